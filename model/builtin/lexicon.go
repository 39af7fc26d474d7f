package builtin

import (
	"slices"
	"strings"
)

// lexicon is what the model knows of English words: a few that carry a mood or
// urgency, and groups of words that belong to the same matter. It is read only.
type lexicon struct {
	mood    map[string]float64 // by term, from -1 to 1
	urgency map[string]float64 // by term, from -1 to 1
	related map[string][]string
}

var moodWords = map[float64]string{
	1:    "delighted thrilled ecstatic love amazing awesome excellent fantastic wonderful perfect outstanding superb brilliant enthusiastic",
	0.8:  "happy great grateful excited joy impressed beautiful best",
	0.5:  "glad pleased satisfied good nice enjoy appreciate helpful positive recommend friendly polite praise cheerful",
	0.2:  "calm fine decent acceptable",
	0:    "neutral indifferent mixed average",
	-0.3: "concern confused issue problem slow late delay wrong missing refund worried trouble mediocre",
	-0.8: "frustrated unacceptable worse rude",
	-0.5: "unhappy dissatisfied disappointed upset sad bad poor annoyed broken negative complaint complain damaged fail useless tired",
	-1:   "angry furious terrible awful horrible hate worst outrage outrageous disgusting scam ridiculous hostile abusive livid rage",
}

var urgencyWords = map[float64]string{
	1:    "urgent urgently asap immediate immediately emergency critical outage severe",
	0.6:  "important soon quickly deadline blocked hurry high serious tonight",
	0:    "medium moderate normal",
	-0.6: "low minor whenever eventually routine trivial optional someday",
}

// topics are groups of words about one matter.
var topics = []string{
	"billing invoice charge refund payment pay paid card price subscription money bill receipt cost fee overcharged credit dollar bank charged finance",
	"refund money return reimburse reimbursement chargeback cancel",
	"technical error bug crash login password install installation broken fail failure server slow reset api code app freeze outage support software technology website page load update problem issue troubleshoot",
	"sales buy purchase pricing quote demo plan upgrade discount order enterprise seat trial sell sale vendor customer product",
	"shipping ship delivery deliver package parcel track courier arrive late shipment warehouse address logistics",
	"account login password profile signup register username access locked authentication email verify",
	"spam winner won win prize free click congratulations lottery offer claim viagra casino unsubscribe guaranteed cash",
	"cancel cancellation unsubscribe terminate end close stop quit",
	"sports game team match football soccer tennis basketball goal player score season league win coach",
	"politics election government president minister parliament vote senate party policy law",
	"science research study scientist physics biology chemistry experiment laboratory discovery",
	"health doctor hospital medical patient medicine disease symptom pain treatment nurse clinic",
	"business company market stock profit revenue economy investor shares finance earnings",
	"legal law lawyer contract court lawsuit attorney liability compliance sue",
	"hr hiring job career salary vacation leave employee recruit resume interview payroll",
	"security breach hack hacked phishing malware vulnerability fraud stolen suspicious unauthorized attack",
	"travel flight hotel trip airport booking ticket vacation train passport",
	"food restaurant meal eat recipe dish cook cooking dinner lunch delicious taste",
	"weather rain snow sunny forecast temperature storm cloudy wind",
	"broken damaged defective cracked faulty shattered defect",
	"bright light sunny daylight white", "dark night black dim shadow",
	"angry furious mad outraged livid", "happy glad pleased delighted joyful", "sad unhappy depressed miserable upset unhappy dissatisfied disappointed",
}

func newLexicon() *lexicon {
	l := &lexicon{mood: stemScale(moodWords), urgency: stemScale(urgencyWords), related: map[string][]string{}}
	for _, topic := range topics {
		var terms []string
		for word := range strings.FieldsSeq(topic) {
			if term := stem(word); term != "" && !slices.Contains(terms, term) {
				terms = append(terms, term)
			}
		}
		l.relate(terms)
	}
	return l
}

// relate makes the first term of a topic stand for all, and the others for the
// first.
func (l *lexicon) relate(terms []string) {
	head := terms[0]
	for _, term := range terms[1:] {
		if !slices.Contains(l.related[head], term) {
			l.related[head] = append(l.related[head], term)
		}
		if !slices.Contains(l.related[term], head) {
			l.related[term] = append(l.related[term], head)
		}
	}
}

func stemScale(words map[float64]string) map[string]float64 {
	scale := make(map[string]float64)
	for value, list := range words {
		for word := range strings.FieldsSeq(list) {
			scale[stem(word)] = value
		}
	}
	return scale
}
