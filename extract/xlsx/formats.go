package xlsx

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// formats say how the styles of a workbook show numbers.
type formats struct {
	from1904 bool   // days are counted from 1904
	styles   []form // by the index of the style
}

// form is what a number is shown as.
type form uint8

const (
	plain form = iota
	percent
	moment // a date, a time, or both
)

// read reads the styles, and reports whether they are whole.
func (f *formats) read(part []byte) bool {
	var list struct {
		Own []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Styles []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	whole := ooxml.Decode(part, &list)
	own := map[int]form{}
	for _, o := range list.Own {
		own[o.ID] = formOf(o.Code)
	}
	f.styles = make([]form, len(list.Styles))
	for i, s := range list.Styles {
		form, ok := own[s.Format]
		if !ok {
			form = builtIn(s.Format)
		}
		f.styles[i] = form
	}
	return whole
}

// builtIn returns the form of a format that has no code.
func builtIn(id int) form {
	switch {
	case id == 9 || id == 10:
		return percent
	case id >= 14 && id <= 22, id >= 27 && id <= 36, id >= 45 && id <= 47, id >= 50 && id <= 58:
		return moment
	}
	return plain
}

// unshown is what in the code of a format is no sign of it: texts, colours and conditions.
var unshown = regexp.MustCompile(`"[^"]*"|\\.|_.|\*.|\[[^\]]*[^hHmMsS\]][^\]]*\]`)

func formOf(code string) form {
	code = strings.ToLower(unshown.ReplaceAllString(code, ""))
	code, _, _ = strings.Cut(code, ";") // of numbers that are not negative
	switch {
	case strings.Contains(code, "general"):
		return plain
	case strings.ContainsAny(code, "ymdhs"):
		return moment
	case strings.Contains(code, "%"):
		return percent
	}
	return plain
}

// number returns a number as a style shows it.
func (f *formats) number(value string, style int) string {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return value
	}
	form := plain
	if style >= 0 && style < len(f.styles) {
		form = f.styles[style]
	}
	const days = 2_958_466 // to the end of the year 9999
	switch {
	case form == percent:
		return decimal(x*100) + "%"
	case form == moment && x >= 0 && x < days:
		return f.moment(x)
	}
	return decimal(x)
}

// decimal writes a number with the 15 digits that Excel keeps.
func decimal(x float64) string {
	const digits, bits = 15, 64
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, bits), bits)
	if err != nil {
		rounded = x
	}
	format := byte('f')
	if a := math.Abs(rounded); a >= 1e21 || a < 1e-7 && a > 0 {
		format = 'g'
	}
	return strconv.FormatFloat(rounded, format, -1, bits)
}

// moment writes a number of days. Excel takes 1900 for a leap year: up to its February
// days are counted from another one.
func (f *formats) moment(days float64) string {
	begin := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	const lost = 60 // the 29th of February
	switch {
	case f.from1904:
		begin = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days < lost:
		begin = begin.AddDate(0, 0, 1)
	}
	whole, part := math.Modf(days)
	const secondsOfDay = 86_400
	seconds := int(math.Round(part * secondsOfDay))
	t := begin.AddDate(0, 0, int(whole)).Add(time.Duration(seconds) * time.Second)
	layout := "2006-01-02"
	if seconds > 0 || days < 1 {
		clock := "15:04"
		if seconds%60 != 0 {
			clock = "15:04:05"
		}
		if layout += " " + clock; days < 1 {
			layout = clock
		}
	}
	return t.Format(layout)
}
