# An agent that works on repositories: it may read what its own tenant has, for purposes that are named here,
# and propose changes as draft pull requests to internal repositories. Changes of others' state, binding
# records and what cannot be undone ask a person. All else is denied.
#
# Every decision falls out of two sets: what asks, and what is allowed. So nothing depends on the order of
# rules, and no rule has to turn off what a default turned on.
package gerbang

purposes := {"bug_reproduction", "code_review", "incident_response", "support", "test_generation"}

max_files_changed := 20

asking_classes := {"destructive", "transactional", "write_external"}

default decision := {"decision": "deny", "reasons": ["NOT_ALLOWED_HERE"], "rule": "all-else"}

decision := {"decision": "ask", "reasons": ["CHANGE_NEEDS_A_PERSON"], "rule": "changes-ask"} if asks

decision := {"decision": "allow", "reasons": [code], "rule": rule} if {
	not asks
	some rule, code in allowed
}

asks if input.tool.risk_class in asking_classes

allowed["read-own-tenant"] := "READ_OF_OWN_TENANT" if {
	input.tool.risk_class == "read_internal"
	input.purpose in purposes
	own_tenant
}

allowed["draft-pull-request"] := "SMALL_DRAFT_PULL_REQUEST" if {
	input.tool.risk_class == "draft"
	startswith(input.tool.name, "github.create_draft_pr.")
	own_tenant
	input.facts["repository.visibility"] == "internal"
	changed := input.facts["diff.files_changed"]
	is_number(changed)
	changed >= 0
	changed <= max_files_changed
}

# All that the call names belongs to the actor's tenant. A call that names nothing shows nothing.
own_tenant if {
	count(input.resources) > 0
	every resource in input.resources {
		resource.tenant == input.actor.tenant
	}
}
