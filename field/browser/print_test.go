//go:build chromium

package browser

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/ledongthuc/pdf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sheet is a printed page. Lengths are in points, from the lower left corner.
type sheet struct {
	wide, high  float64
	left, right float64 // of the text
	bottom, top float64
	smallest    float64 // letter
	text, foot  string  // without spaces
}

// sheetOf reads a page of a PDF. Even an empty sheet has a foot line.
func sheetOf(p pdf.Page) sheet {
	paper := p.V.Key("MediaBox")
	s := sheet{wide: paper.Index(2).Float64(), high: paper.Index(3).Float64()}
	s.left, s.bottom, s.smallest = s.wide, s.high, s.high
	var text strings.Builder
	for _, letter := range p.Content().Text {
		if strings.TrimSpace(letter.S) == "" || letter.FontSize == 0 { // turned on its side
			continue
		}
		const margin = 22 // points
		if letter.Y < margin {
			s.foot += letter.S
			continue
		}
		text.WriteString(letter.S)
		s.left, s.right = min(s.left, letter.X), max(s.right, letter.X)
		s.bottom, s.top = min(s.bottom, letter.Y), max(s.top, letter.Y)
		s.smallest = min(s.smallest, letter.FontSize)
	}
	s.text = text.String()
	return s
}

// prints prints a page of the site.
func (s *stage) prints(address string) []sheet {
	s.t.Helper()
	s.visits(s.site + "/docs/" + address)
	return s.paper(11.69)
}

// paper prints what the browser shows on A4, on paper of another height in inches, or on
// the paper that the page asks for.
func (s *stage) paper(high float64) []sheet {
	s.t.Helper()
	printed, err := chromedp.Call(s.ctx, page.PrintToPDF, page.PrintToPDFParams{
		PaperWidth: 8.27, PaperHeight: high, PreferCSSPageSize: new(true)})
	require.NoError(s.t, err)
	document, err := pdf.NewReader(bytes.NewReader(printed.Data), int64(len(printed.Data)))
	require.NoError(s.t, err)
	var sheets []sheet
	for n := range document.NumPage() {
		sheets = append(sheets, sheetOf(document.Page(n+1)))
	}
	return sheets
}

// wastesNoPaper prints what the browser shows. Whoever prints a page sees the run, not the
// source of a diagram, and no page but the last is nearly empty.
func (s *stage) wastesNoPaper() {
	s.t.Helper()
	text, sheets := "", s.paper(11.69)
	for i, sheet := range sheets {
		text += sheet.text
		if i < len(sheets)-1 {
			assert.Less(s.t, sheet.bottom, sheet.high*.45, "page %d of %d is half empty",
				i+1, len(sheets))
		}
	}
	assert.NotContains(s.t, text, "sequenceDiagram")
}

// A printed run is whole, whatever the screen shows: nothing is covered, attempts are
// folded, and paper is white. The worksheet has room to write.
func TestARunPrintsAsAPicture(t *testing.T) {
	s := newStage(t)
	s.sized(1280, 800)
	s.open(goldRun)
	s.does("p.querySelector('input[type=checkbox]').click()")
	s.runs("document.documentElement.dataset.theme = 'dark'")
	sheets := s.paper(11.69)
	require.Len(t, sheets, 1)
	assert.Contains(t, sheets[0].text, "morelikethese")
	assert.NotContains(t, sheets[0].text, "step▶")

	_, err := chromedp.Call(s.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	assert.Equal(t, "none #ffffff", shows[string](s, `
		getComputedStyle(document.querySelector('.cover')).display + ' ' +
		getComputedStyle(document.documentElement).getPropertyValue('--paper')`))
	s.visits(s.site + "/docs/worksheet.md")
	assert.Greater(t, shows[float64](s, "document.querySelector('td:nth-child(3)').offsetWidth / document.querySelector('table').offsetWidth"), .3)
}

// filled says that text reaches all four edges of the sheet, but for a margin.
func (s sheet) filled(t *testing.T) {
	t.Helper()
	const margin = 60 // points; the last letters of right and top begin before them
	assert.True(t, s.left < margin && s.right > s.wide-margin && s.bottom < margin && s.top > s.high-margin,
		"%v", []float64{s.left, s.right, s.bottom, s.top})
}

func TestThePostersFillTheirSheets(t *testing.T) {
	s := newStage(t)
	for _, poster := range []struct {
		address, says        string
		sheets               int
		wide, high, smallest float64
	}{
		{"matrix.md?poster", "ownlock,andneveranother's. leftbehind:akey", 1, 842, 1191, 14}, // read from two meters
		{"matrix.md?poster=all", "crash_holding:theholderdies starvation:awaiterasks", 2, 842, 1191, 10.5},
		{"matrix.md?poster=workshop-matrix", "slow_get(question1)", 1, 595, 842, 8},
	} {
		t.Run(poster.address, func(t *testing.T) {
			s.t = t
			sheets, text := s.prints(poster.address), ""
			require.Len(t, sheets, poster.sheets)
			for _, sheet := range sheets {
				assert.InDeltaSlice(t, []float64{poster.wide, poster.high}, []float64{sheet.wide, sheet.high}, 1)
				assert.GreaterOrEqual(t, sheet.smallest, poster.smallest)
				sheet.filled(t)
				text += sheet.text
			}
			for said := range strings.FieldsSeq(poster.says + " shownonpurpose bronze✓where diamond:compareanddelete github.com/lockladder/lockladder") {
				assert.Contains(t, text, said)
			}
		})
	}
}

func TestTheHandoutIsOnePageWithAPicture(t *testing.T) {
	s := newStage(t)
	sheets := s.prints("handout.md")
	require.Len(t, sheets, 1)
	assert.Contains(t, sheets[0].text, "withaleaseuntil20.023") // the picture's last words
	assert.NotContains(t, sheets[0].text, "toprint")
	assert.Contains(t, sheets[0].foot, "LockLadder:thehandout,github.com/lockladder/lockladder/blob/main/docs/handout.md")
	assert.Len(t, s.paper(11), 1, "US Letter is lower, and wider")
	assert.Len(t, s.prints("worksheet.md"), 2)
	assert.Len(t, s.paper(11), 2)
}

// A run isn't torn, a heading stands above what it announces, and a link has an address.
func TestASheetKeepsTogether(t *testing.T) {
	s := newStage(t)
	for _, belongs := range []struct{ page, first, last string }{
		{"fair.md", "$gotest./reentrant/fair-red", "stalewrite:A'swrite"},
		{"at-work.md", "redsync[1]", "1.github.com/go-redsync/redsync"},
		{"workshop.md", "savestheminutesinbrackets", "questions,thequiz,redlock"},
	} {
		assert.True(t, slices.ContainsFunc(s.prints(belongs.page), func(sheet sheet) bool {
			_, after, found := strings.Cut(sheet.text, belongs.first)
			return found && strings.Contains(after, belongs.last)
		}), belongs.page)
	}
}
