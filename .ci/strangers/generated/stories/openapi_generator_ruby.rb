# The story with the client that openapi-generator generates for Ruby.

require "rolecall"
require "uri"

def connect(base, key)
  configuration = Rolecall::Configuration.new
  url = URI(ENV.fetch(base))
  configuration.scheme = url.scheme
  configuration.host = "#{url.host}:#{url.port}"
  configuration.base_path = ""
  # Otherwise the URL in the document is used.
  configuration.server_index = nil
  configuration.access_token = ENV.fetch(key)
  Rolecall::ApiClient.new(configuration)
end

# Returns the error of a request that fails.
def refused
  yield
  raise "not refused"
rescue Rolecall::ApiError => e
  e
end

def check(fact, about)
  raise about.inspect unless fact
end

client = connect("ROLECALL", "ROLECALL_KEY")
roles = Rolecall::RolesApi.new(client)
quick_post = Rolecall::QuickPostApi.new(client)
baker = Rolecall::RoleInput.new(title: "Baker", location: "Berlin", salary_min: 50_000, remote_policy: "hybrid")
input = Rolecall::QuickPostInput.new(role: baker)
posted = quick_post.create_quick_post(input, idempotency_key: "ruby")
role = posted.role
check role.status == "open" && role.salary_min == 50_000, role
again, _, headers = quick_post.create_quick_post_with_http_info(input, idempotency_key: "ruby")
check again == posted && headers["Idempotency-Replayed"] == "true", headers
puts "key"

found = []
cursor = nil
loop do
  page = roles.list_roles({ limit: 3, cursor: cursor }.compact)
  found += page.data.map(&:id)
  cursor = page.next_cursor
  break if cursor.nil?
end
check found.include?(role.id) && found.uniq == found && found.size > 3, found
puts "pages"

changed = roles.update_role(role.id, role_patch: Rolecall::RolePatch.new(salary_min: nil))
check changed.salary_min.nil? && changed.location == "Berlin", changed
puts "null"

mistakes = Rolecall::RoleInput.new(title: " ", salary_min: 2, salary_max: 1)
messages = JSON.parse(refused { roles.create_role(mistakes) }.response_body)["messages"]
check messages == ["title can't be blank", "salary_min must be at most salary_max"], messages
puts "422"

_, _, headers = roles.show_role_with_http_info(role.id)
check refused { roles.show_role(role.id, if_none_match: headers["ETag"]) }.code == 304, headers
puts "304"

over = refused { Rolecall::RolesApi.new(connect("ROLECALL", "ROLECALL_LIMITED_KEY")).list_roles }
check over.code == 429 && JSON.parse(over.response_body)["code"] == "rate_limited", over
check over.response_headers["Retry-After"].to_i.positive?, over
puts "429"

candidate = Rolecall::CandidatesApi.new(client).list_candidates(limit: 1).data.first.id
newer = connect("ROLECALL_FUTURE", "ROLECALL_KEY")
Rolecall::RolesApi.new(newer).list_roles
Rolecall::CandidatesApi.new(newer).list_candidates
Rolecall::CandidatesApi.new(newer).show_candidate(candidate)
puts "future"
