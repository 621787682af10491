package order

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// pressure is for how long, since the machine began, some process has been ready to
// run and has waited for a processor: Linux's pressure stall information. It is 0
// where the system doesn't say.
func pressure() time.Duration {
	text, err := os.ReadFile("/proc/pressure/cpu")
	if err != nil {
		return 0
	}
	var micros int64
	_, total, _ := bytes.Cut(text, []byte("total="))
	if _, err := fmt.Fscan(bytes.NewReader(total), &micros); err != nil {
		return 0
	}
	return time.Duration(micros) * time.Microsecond
}
