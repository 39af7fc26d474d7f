package wire

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// Dollars is an amount of US dollars as a decimal number. A request may have it as a
// JSON string or number.
type Dollars string

func (d *Dollars) readNode(n *jsonin.Node, _ *field) {
	if *d = Dollars(n.Raw()); n.IsText() {
		*d = Dollars(n.Text())
	}
}

// OrganizationRequest makes an organization.
type OrganizationRequest struct {
	Name               string     `json:"name" api:"needed,least=1,most=256"`
	Credits            *Dollars   `json:"credits,omitempty" doc:"US dollars, with at most 6 digits after the point."`
	ZeroDataRetention  bool       `json:"zero_data_retention,omitempty"`
	RequestsPerMinute  int        `json:"requests_per_minute,omitempty" api:"min=0" doc:"0 is no limit."`
	TokensPerMinute    int        `json:"tokens_per_minute,omitempty" api:"min=0" doc:"0 is no limit."`
	ConcurrentRequests int        `json:"concurrent_requests,omitempty" api:"min=0" doc:"How many requests of it a process works on at once; 0 is no limit of its own."`
	UnknownFields      string     `json:"unknown_fields,omitempty" api:"enum=ignore|refuse" doc:"What becomes of fields of requests that the interface does not have: they are ignored and named in Svc-Ignored-Fields, or refused. The organization, the key or the request may refuse; what the request says wins."`
	StoreDecisions     bool       `json:"store_decisions,omitempty" doc:"Decisions are stored where a request does not say otherwise."`
	Policies           []string   `json:"policies,omitempty" api:"most=16" doc:"Names of policies that its requests are judged by, besides the defaults."`
	Retention          *Retention `json:"retention,omitempty"`
}

// OrganizationUpdate changes the fields of an organization that are there.
type OrganizationUpdate struct {
	Name               *string    `json:"name,omitempty" api:"least=1,most=256"`
	Status             *string    `json:"status,omitempty" api:"enum=active|suspended"`
	ZeroDataRetention  *bool      `json:"zero_data_retention,omitempty"`
	RequestsPerMinute  *int       `json:"requests_per_minute,omitempty" api:"min=0" doc:"0 is no limit."`
	TokensPerMinute    *int       `json:"tokens_per_minute,omitempty" api:"min=0" doc:"0 is no limit."`
	ConcurrentRequests *int       `json:"concurrent_requests,omitempty" api:"min=0" doc:"How many requests of it a process works on at once; 0 is no limit of its own."`
	UnknownFields      *string    `json:"unknown_fields,omitempty" api:"enum=ignore|refuse"`
	StoreDecisions     *bool      `json:"store_decisions,omitempty"`
	Policies           *[]string  `json:"policies,omitempty" api:"most=16" doc:"All of them."`
	Retention          *Retention `json:"retention,omitempty" doc:"All of it."`
}

// Retention is for how many days things are kept; 0 or absent is for ever.
type Retention struct {
	CompletionsDays   int `json:"completions_days,omitempty" api:"min=0,max=36500" doc:"Since a chat completion was made."`
	ResponsesDays     int `json:"responses_days,omitempty" api:"min=0,max=36500" doc:"Since a response was made; its items stay in its conversation."`
	ConversationsDays int `json:"conversations_days,omitempty" api:"min=0,max=36500" doc:"Since something was last said in a conversation."`
	FilesDays         int `json:"files_days,omitempty" api:"min=0,max=36500" doc:"Since a file was uploaded."`
	DecisionsDays     int `json:"decisions_days,omitempty" api:"min=0,max=36500" doc:"Since a stored decision was made; its labels go with it."`
}

// Organization is who owns keys, credits and what is stored.
type Organization struct {
	ID                 string    `json:"id"`
	Object             string    `json:"object" api:"const=organization"`
	Name               string    `json:"name"`
	Status             string    `json:"status" api:"enum=active|suspended"`
	ZeroDataRetention  bool      `json:"zero_data_retention"`
	Credits            Dollars   `json:"credits" doc:"US dollars."`
	RequestsPerMinute  int       `json:"requests_per_minute" doc:"0 is no limit."`
	TokensPerMinute    int       `json:"tokens_per_minute" doc:"0 is no limit."`
	ConcurrentRequests int       `json:"concurrent_requests,omitempty" doc:"How many requests of it a process works on at once; absent without a limit of its own."`
	UnknownFields      string    `json:"unknown_fields,omitempty" api:"enum=refuse" doc:"Absent where they are ignored."`
	StoreDecisions     bool      `json:"store_decisions,omitempty" doc:"Decisions are stored where a request does not say otherwise."`
	Policies           []string  `json:"policies,omitempty" doc:"Names of policies that its requests are judged by, besides the defaults."`
	Retention          Retention `json:"retention,omitzero"`
	CreatedAt          int64     `json:"created_at" doc:"Unix seconds."`
}

// CreditsRequest adds credits to an organization.
type CreditsRequest struct {
	Amount *Dollars `json:"amount" api:"required" doc:"US dollars to add, or to take away where negative."`
}

// KeyRequest makes an API key.
type KeyRequest struct {
	OrganizationID    string   `json:"organization_id,omitempty" doc:"Without one the key may do nothing."`
	Name              string   `json:"name,omitempty" api:"most=256"`
	Models            []string `json:"models,omitempty" api:"least=1,first=1001" doc:"What it may use; null is every model."`
	RequestsPerMinute int      `json:"requests_per_minute,omitempty" api:"min=0" doc:"0 is no limit besides the organization's."`
	TokensPerMinute   int      `json:"tokens_per_minute,omitempty" api:"min=0" doc:"0 is no limit besides the organization's."`
	Budget            *Dollars `json:"budget,omitempty" doc:"US dollars that the key may spend in each period, 0 for no budget. Above it requests get 402 with the code budget_exceeded."`
	BudgetPeriod      string   `json:"budget_period,omitempty" api:"enum=day|month" doc:"Of the calendar, in UTC; month where a budget has none."`
	UnknownFields     string   `json:"unknown_fields,omitempty" api:"enum=ignore|refuse" doc:"As of organizations."`
	StoreDecisions    bool     `json:"store_decisions,omitempty" doc:"As of organizations: either stores."`
	CreatedBy         string   `json:"created_by,omitempty" api:"most=1024" doc:"The person whose key it is, as the console writes it: the sign-on provider's URL, a number sign and the subject."`
}

// KeyUpdate changes the fields of a key that are there.
type KeyUpdate struct {
	Name              *string  `json:"name,omitempty" api:"most=256"`
	RequestsPerMinute *int     `json:"requests_per_minute,omitempty" api:"min=0" doc:"0 is no limit besides the organization's."`
	TokensPerMinute   *int     `json:"tokens_per_minute,omitempty" api:"min=0" doc:"0 is no limit besides the organization's."`
	Budget            *Dollars `json:"budget,omitempty" doc:"0 for no budget. What the key has spent in the period counts."`
	BudgetPeriod      *string  `json:"budget_period,omitempty" api:"enum=day|month" doc:"Of the calendar, in UTC; month where a budget has none."`
	UnknownFields     *string  `json:"unknown_fields,omitempty" api:"enum=ignore|refuse"`
	StoreDecisions    *bool    `json:"store_decisions,omitempty"`
}

// APIKey is a key, without its secret but where it has just been made.
type APIKey struct {
	ID                string   `json:"id"`
	Object            string   `json:"object" api:"const=api_key"`
	OrganizationID    *string  `json:"organization_id"`
	Name              string   `json:"name"`
	Models            []string `json:"models" api:"nullable" doc:"What it may use; null is every model."`
	Prefix            string   `json:"prefix" doc:"What the key begins with."`
	CreatedAt         int64    `json:"created_at" doc:"Unix seconds."`
	LastUsedAt        *int64   `json:"last_used_at" doc:"Unix seconds."`
	RequestsPerMinute int      `json:"requests_per_minute,omitempty" doc:"Absent without a limit."`
	TokensPerMinute   int      `json:"tokens_per_minute,omitempty" doc:"Absent without a limit."`
	Budget            *Dollars `json:"budget,omitempty" doc:"US dollars that the key may spend in each period; absent without a budget."`
	BudgetPeriod      string   `json:"budget_period,omitempty" api:"enum=day|month" doc:"Of the calendar, in UTC."`
	BudgetSpent       *Dollars `json:"budget_spent,omitempty" doc:"Of the budget, in this period."`
	UnknownFields     string   `json:"unknown_fields,omitempty" api:"enum=refuse" doc:"Absent where they are ignored unless the organization refuses them."`
	StoreDecisions    bool     `json:"store_decisions,omitempty"`
	CreatedBy         string   `json:"created_by,omitempty" doc:"The person whose key it is: the sign-on provider's URL, a number sign and the subject. Absent for a key of the administration."`
	Key               string   `json:"key,omitempty" doc:"The secret, shown once."`
}

// UsageRecord is what one call has used and cost.
type UsageRecord struct {
	ID              string  `json:"id"`
	Object          string  `json:"object" api:"const=usage"`
	OrganizationID  string  `json:"organization_id"`
	APIKeyID        *string `json:"api_key_id"`
	Endpoint        string  `json:"endpoint"`
	Model           string  `json:"model"`
	ObjectID        *string `json:"object_id"`
	InputTokens     int     `json:"input_tokens"`
	CachedTokens    int     `json:"cached_tokens"`
	OutputTokens    int     `json:"output_tokens"`
	ReasoningTokens int     `json:"reasoning_tokens"`
	Cost            Dollars `json:"cost" doc:"US dollars."`
	CreatedAt       int64   `json:"created_at" doc:"Unix seconds."`
}

// AuditEntry says who changed what. Change is null where the action says it all.
type AuditEntry struct {
	ID        string          `json:"id"`
	Object    string          `json:"object" api:"const=audit_entry"`
	Action    string          `json:"action" api:"enum=organization.create|organization.update|organization.credits|organization.delete|api_key.create|api_key.update|api_key.revoke|policy.block"`
	Subject   string          `json:"subject" doc:"ID of what was changed."`
	Change    json.RawMessage `json:"change" api:"object,nullable" doc:"What was asked for."`
	By        string          `json:"by,omitempty" doc:"Who asked for it, for people to read; absent where nobody said."`
	CreatedAt int64           `json:"created_at" doc:"Unix seconds."`
}
