package explore

import (
	"fmt"
	"strconv"
	"time"
)

// bare is a word that is written without quotes.
type bare string

// words appends a line's words, each after a space: texts in quotes, everything
// else bare. It says what fmt would say, and the explorer says it at every step.
func words(b []byte, values ...any) []byte {
	for _, value := range values {
		b = append(b, ' ')
		switch v := value.(type) {
		case bare:
			b = append(b, v...)
		case string:
			b = quote(b, v)
		case []string:
			for _, s := range v {
				b = append(quote(b, s), ' ')
			}
		case bool:
			b = strconv.AppendBool(b, v)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case uint64:
			b = strconv.AppendUint(b, v, 10)
		case time.Duration:
			b = strconv.AppendInt(b, int64(v), 10)
		case float64:
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
		default:
			panic(fmt.Sprintf("explore: no word for a %T", value))
		}
	}
	return b
}

// quote appends a text in quotes.
func quote(b []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.AppendQuote(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
