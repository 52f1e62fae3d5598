// A member allows the access that a client asks for. Prints the URL that leads back to the client.
//
// Usage: node allow.mjs URL
import { Member } from "../../clients/member.js";

console.log(String(await new Member().allow(process.argv[2])));
