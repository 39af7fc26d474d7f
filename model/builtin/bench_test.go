package builtin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
)

func BenchmarkText(b *testing.B) {
	req := ask(model.Message{Role: model.User, Parts: []model.Part{
		model.Document{Name: "policy.txt", Text: refundPolicy}, model.Text("How many days do I have to return an item?"),
	}})
	m := New()
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range m.Generate(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkToolCall(b *testing.B) {
	req := ask(user("What's the weather in Paris?"))
	req.Tools = []model.Tool{weather}
	m := New()
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range m.Generate(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkDecision(b *testing.B) {
	req := decision("I was charged twice for my subscription this month.", "Which department?", "billing: invoices", "technical: errors", "sales: plans")
	m := New()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Score(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// longText has about 390,000 tokens.
func longText() string {
	var text strings.Builder
	for i := range 19000 {
		fmt.Fprintf(&text, "Customer %d wrote that the invoice for order %d was late, and asked for a refund. ", i, 7*i)
	}
	return text.String()
}

func BenchmarkLongState(b *testing.B) {
	req := decision(longText(), "Does the customer want a refund?", "yes", "no")
	for name, questions := range map[string]int{"1 question": 1, "16 questions": 16} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m := New()
				req.Memo = new(model.Memo)
				for range questions {
					if _, err := m.Score(b.Context(), req); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkLongConversation(b *testing.B) {
	req := ask(user(longText()), user("Which order had the invoice of customer 77?"))
	m := New()
	for b.Loop() {
		for _, err := range m.Generate(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkStructured fills 300 different values of a list of 5,000.
func BenchmarkStructured(b *testing.B) {
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf(`"v%d"`, i)
	}
	schema := `{"type":"array","uniqueItems":true,"minItems":300,"items":{"enum":[` + strings.Join(names, ",") + `]}}`
	b.ReportAllocs()
	for b.Loop() {
		if _, err := structured(b, schema, "I want v77."); err != nil {
			b.Fatal(err)
		}
	}
}
