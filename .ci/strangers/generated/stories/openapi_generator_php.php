<?php
// The story with the client that openapi-generator generates for PHP.

require 'GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . '/../made/php/lib/' . str_replace('\\', '/', substr($class, strlen('Rolecall\\'))) . '.php';
    if (str_starts_with($class, 'Rolecall\\') && is_file($file)) {
        require $file;
    }
});
// A warning is an error.
set_error_handler(function (int $level, string $message, string $file, int $line): bool {
    throw new ErrorException($message, 0, $level, $file, $line);
}, E_ALL & ~E_DEPRECATED);

use Rolecall\Api\CandidatesApi;
use Rolecall\Api\QuickPostApi;
use Rolecall\Api\RolesApi;
use Rolecall\ApiException;
use Rolecall\Configuration;
use Rolecall\Model\QuickPostInput;
use Rolecall\Model\RoleInput;
use Rolecall\Model\RolePatch;

function connect(string $base, string $key): Configuration
{
    return (new Configuration())->setHost(getenv($base))->setAccessToken(getenv($key));
}

/** Returns the error of a request that fails. */
function refused(callable $request): ApiException
{
    try {
        $request();
    } catch (ApiException $error) {
        return $error;
    }
    throw new Exception('not refused');
}

function check(bool $fact, mixed $about): void
{
    if (!$fact) {
        throw new Exception(print_r($about, true));
    }
}

$client = connect('ROLECALL', 'ROLECALL_KEY');
$roles = new RolesApi(null, $client);
$quick_post = new QuickPostApi(null, $client);
$baker = new RoleInput(['title' => 'Baker', 'location' => 'Berlin', 'salary_min' => 50_000, 'remote_policy' => 'hybrid']);
$input = new QuickPostInput(['role' => $baker]);
$role = $quick_post->createQuickPost($input, 'php')->getRole();
check($role->getStatus() === 'open' && $role->getSalaryMin() === 50_000, $role);
[$again, , $headers] = $quick_post->createQuickPostWithHttpInfo($input, 'php');
check($again->getRole()->getId() === $role->getId(), $again);
check(array_change_key_case($headers)['idempotency-replayed'] === ['true'], $headers);
echo "key\n";

$found = [];
$cursor = null;
do {
    $page = $roles->listRoles(limit: 3, cursor: $cursor);
    foreach ($page->getData() as $listed) {
        $found[] = $listed->getId();
    }
    $cursor = $page->getNextCursor();
} while ($cursor !== null);
check(in_array($role->getId(), $found) && array_unique($found) === $found && count($found) > 3, $found);
echo "pages\n";

$changed = $roles->updateRole($role->getId(), role_patch: new RolePatch(['salary_min' => null]));
check($changed->getSalaryMin() === null && $changed->getLocation() === 'Berlin', $changed);
echo "null\n";

$mistakes = new RoleInput(['title' => ' ', 'salary_min' => 2, 'salary_max' => 1]);
$messages = refused(fn () => $roles->createRole($mistakes))->getResponseObject()->getMessages();
check($messages === ["title can't be blank", 'salary_min must be at most salary_max'], $messages);
echo "422\n";

[, , $headers] = $roles->showRoleWithHttpInfo($role->getId());
$tag = array_change_key_case($headers)['etag'][0];
check(refused(fn () => $roles->showRole($role->getId(), $tag))->getCode() === 304, $tag);
echo "304\n";

$over = refused(fn () => (new RolesApi(null, connect('ROLECALL', 'ROLECALL_LIMITED_KEY')))->listRoles());
check($over->getCode() === 429 && $over->getResponseObject()->getCode() === 'rate_limited', $over);
check((int) array_change_key_case($over->getResponseHeaders())['retry-after'][0] > 0, $over);
echo "429\n";

$candidate = (new CandidatesApi(null, $client))->listCandidates(limit: 1)->getData()[0]->getId();
$newer = connect('ROLECALL_FUTURE', 'ROLECALL_KEY');
(new RolesApi(null, $newer))->listRoles();
(new CandidatesApi(null, $newer))->listCandidates();
(new CandidatesApi(null, $newer))->showCandidate($candidate);
echo "future\n";
