import com.fasterxml.jackson.core.JacksonException
import java.lang.System.getenv
import rolecall.apis.CandidatesApi
import rolecall.apis.QuickPostApi
import rolecall.apis.RolesApi
import rolecall.infrastructure.ApiClient
import rolecall.infrastructure.ClientError
import rolecall.infrastructure.ClientException
import rolecall.infrastructure.Serializer
import rolecall.infrastructure.Success
import rolecall.models.Invalid
import rolecall.models.Problem
import rolecall.models.QuickPostInput
import rolecall.models.RemotePolicy
import rolecall.models.RoleInput

/** The response to a request that fails. */
fun refused(request: () -> Any): ClientError<*> =
    try {
        throw AssertionError(request())
    } catch (error: ClientException) {
        error.response as ClientError<*>
    }

inline fun <reified T> read(body: Any?): T = Serializer.jacksonObjectMapper.readValue(body as String, T::class.java)

/** The story with the client that openapi-generator generates for Kotlin. */
fun main() {
    val base = getenv("ROLECALL")
    // The key is the same for all clients.
    ApiClient.accessToken = getenv("ROLECALL_KEY")
    val roles = RolesApi(base)
    val baker = RoleInput(title = "Baker", location = "Berlin", salaryMin = 50_000, remotePolicy = RemotePolicy.hybrid)
    val posted = QuickPostApi(base).createQuickPost(QuickPostInput(role = baker), "kotlin")
    check(posted.role.status == "open" && posted.role.salaryMin == 50_000)
    val again = QuickPostApi(base).createQuickPostWithHttpInfo(QuickPostInput(role = baker), "kotlin")
    check((again as Success).data == posted && again.headers["idempotency-replayed"] == listOf("true"))
    println("key")

    val found = mutableListOf<Long>()
    var cursor: String? = null
    do {
        val page = roles.listRoles(limit = 3, cursor = cursor)
        found += page.data.map { it.id }
        cursor = page.nextCursor
    } while (cursor != null)
    check(posted.role.id in found && found.toSet().size == found.size && found.size > 3)
    println("pages")

    val invalid = refused { roles.createRole(RoleInput(title = " ", salaryMin = 2, salaryMax = 1)) }
    val messages = read<Invalid>(invalid.body).messages
    check(messages == listOf("title can't be blank", "salary_min must be at most salary_max"))
    println("422")

    val tag = roles.showRoleWithHttpInfo(posted.role.id, null).headers["etag"]!!.single()
    println(roles.showRoleWithHttpInfo(posted.role.id, tag).statusCode)

    ApiClient.accessToken = getenv("ROLECALL_LIMITED_KEY")
    val over = refused { roles.listRoles() }
    check(over.statusCode == 429 && over.headers["retry-after"]!!.single().toInt() > 0)
    check(read<Problem>(over.body).code == "rate_limited")
    println("429")

    ApiClient.accessToken = getenv("ROLECALL_KEY")
    val candidate = CandidatesApi(base).listCandidates(limit = 1).data.single().id
    val newer = getenv("ROLECALL_FUTURE")
    try {
        RolesApi(newer).listRoles()
        CandidatesApi(newer).listCandidates()
        CandidatesApi(newer).showCandidate(candidate)
        println("future")
    } catch (error: JacksonException) {
        println("-- future: $error")
    }
}
