package browser_test

import "testing"

// TestRevocation ends the sessions of a key with the key, and takes credits away.
func TestRevocation(t *testing.T) {
	v := visit(t, start(t), desk)
	answerDialogs(v.ctx)
	v.signIn(adminKey)
	other := visit(t, v.server, telephone)
	other.signIn(v.key)
	other.open("/respond")
	v.open("/admin/organizations/org_default")
	v.fill("[name=amount]", "-400")
	v.submit("form[action$=credits] button.primary")
	v.says(".facts", "$600")
	v.submit("table button.danger")
	v.says("p", "It has no keys")
	other.open("/respond")
	other.says("h1", "Sign in")
	v.open("/admin/audit")
	v.says("td", "api_key.revoke")
}
