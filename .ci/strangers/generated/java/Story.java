import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import rolecall.ApiClient;
import rolecall.ApiException;
import rolecall.api.CandidatesApi;
import rolecall.api.CandidatesApi.APIListCandidatesRequest;
import rolecall.api.CandidatesApi.APIShowCandidateRequest;
import rolecall.api.QuickPostApi;
import rolecall.api.QuickPostApi.APICreateQuickPostRequest;
import rolecall.api.RolesApi;
import rolecall.api.RolesApi.APICreateRoleRequest;
import rolecall.api.RolesApi.APIListRolesRequest;
import rolecall.api.RolesApi.APIShowRoleRequest;
import rolecall.api.RolesApi.APIUpdateRoleRequest;
import rolecall.model.Invalid;
import rolecall.model.ListedRole;
import rolecall.model.Problem;
import rolecall.model.QuickPostInput;
import rolecall.model.RemotePolicy;
import rolecall.model.RoleInput;
import rolecall.model.RolePatch;

/** The story with the client that openapi-generator generates for Java. */
class Story {
  interface Request {
    Object send() throws ApiException;
  }

  static ApiClient connect(String base, String key) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv(base));
    return client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + System.getenv(key)));
  }

  /** Returns the error of a request that fails. */
  static ApiException refused(Request request) {
    try {
      throw new AssertionError(request.send());
    } catch (ApiException error) {
      return error;
    }
  }

  static void check(boolean fact, Object about) {
    if (!fact) throw new AssertionError(about);
  }

  public static void main(String[] arguments) throws Exception {
    ApiClient client = connect("ROLECALL", "ROLECALL_KEY");
    RolesApi roles = new RolesApi(client);
    RoleInput baker =
        new RoleInput().title("Baker").location("Berlin").salaryMin(50_000).remotePolicy(RemotePolicy.HYBRID);
    var once =
        APICreateQuickPostRequest.newBuilder()
            .quickPostInput(new QuickPostInput().role(baker))
            .idempotencyKey("java")
            .build();
    QuickPostApi quickPost = new QuickPostApi(client);
    var posted = quickPost.createQuickPost(once);
    var role = posted.getRole();
    check(role.getStatus().equals("open") && role.getSalaryMin() == 50_000, role);
    var again = quickPost.createQuickPostWithHttpInfo(once);
    check(again.getData().equals(posted), again.getData());
    check(again.getHeaders().get("idempotency-replayed").equals(List.of("true")), again.getHeaders());
    System.out.println("key");

    List<Long> found = new ArrayList<>();
    String cursor = null;
    do {
      var page = roles.listRoles(APIListRolesRequest.newBuilder().limit(3).cursor(cursor).build());
      found.addAll(page.getData().stream().map(ListedRole::getId).toList());
      cursor = page.getNextCursor();
    } while (cursor != null);
    check(found.contains(role.getId()) && new HashSet<>(found).size() == found.size() && found.size() > 3, found);
    System.out.println("pages");

    var patch = APIUpdateRoleRequest.newBuilder().id(role.getId()).rolePatch(new RolePatch().salaryMin(null));
    var changed = roles.updateRole(patch.build());
    check(changed.getSalaryMin() == null && changed.getLocation().equals("Berlin"), changed);
    System.out.println("null");

    var mistakes = APICreateRoleRequest.newBuilder().roleInput(new RoleInput().title(" ").salaryMin(2).salaryMax(1));
    var invalid = refused(() -> roles.createRole(mistakes.build()));
    var messages = ApiClient.createDefaultObjectMapper().readValue(invalid.getResponseBody(), Invalid.class).getMessages();
    check(messages.equals(List.of("title can't be blank", "salary_min must be at most salary_max")), messages);
    System.out.println("422");

    var show = APIShowRoleRequest.newBuilder().id(role.getId());
    show.ifNoneMatch(roles.showRoleWithHttpInfo(show.build()).getHeaders().get("etag").get(0));
    check(refused(() -> roles.showRole(show.build())).getCode() == 304, role);
    System.out.println("304");

    Instant started = Instant.now();
    RolesApi limited = new RolesApi(connect("ROLECALL", "ROLECALL_LIMITED_KEY"));
    var over = refused(() -> limited.listRoles(APIListRolesRequest.newBuilder().build()));
    var problem = ApiClient.createDefaultObjectMapper().readValue(over.getResponseBody(), Problem.class);
    check(over.getCode() == 429 && problem.getCode().equals("rate_limited"), problem);
    check(Integer.parseInt(over.getResponseHeaders().firstValue("Retry-After").get()) > 0, over);
    check(Duration.between(started, Instant.now()).toSeconds() < 10, started);
    System.out.println("429");

    var everyone = APIListCandidatesRequest.newBuilder().build();
    Long candidate = new CandidatesApi(client).listCandidates(everyone).getData().get(0).getId();
    ApiClient newer = connect("ROLECALL_FUTURE", "ROLECALL_KEY");
    try {
      new RolesApi(newer).listRoles(APIListRolesRequest.newBuilder().build());
      new CandidatesApi(newer).listCandidates(everyone);
      new CandidatesApi(newer).showCandidate(APIShowCandidateRequest.newBuilder().id(candidate).build());
      System.out.println("future");
    } catch (ApiException error) {
      System.out.println("-- future: " + error);
    }
  }
}
