package browser_test

import "testing"

// TestZeroDataRetention turns it on, and nothing that is said afterwards stays.
func TestZeroDataRetention(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(adminKey)
	v.open("/admin/organizations/org_default")
	v.click("[name=zero_data_retention]")
	v.submit("form.card button.primary")
	v.until(`document.querySelector("[name=zero_data_retention]").checked`)
	v.signIn(v.key)
	v.ask("svc-preview")
	v.says(".turn .note", "Nothing is kept")
	v.seen(".turn .item.assistant .md")
	v.until(`!document.querySelector("#respond button.primary").disabled`)
	v.open("/log")
	v.says(".empty", "Nothing has happened yet")
	v.open("/decide")
	v.click(".actions button.primary")
	v.says(".answer h2", "team")
}
