// The published type of each request and answer in tests/providers.json.
//
// - Vapi: @vapi-ai/server-sdk, by Vapi.
// - X: @xdevplatform/xdk, by X. It writes the names in camel case.
// - WhatsApp: @great-detail/whatsapp. It is not by Meta, but has the types of Meta's OpenAPI documents for errors, and the
//   continuation of Meta's own SDK, which Meta has archived, for the status of phone numbers. Meta's
//   facebook-nodejs-business-sdk has no phone numbers.
import type { GetPhoneNumberOptions, GetPhoneNumberPayload, experimental } from "@great-detail/whatsapp";
import type { Vapi } from "@vapi-ai/server-sdk";
import type { OAuth2Token, Posts, PostsClient, Schemas, Users } from "@xdevplatform/xdk";

type IsAny<T> = 0 extends 1 & T ? true : false;

/** A name as X sends it: `likeCount` is `like_count`. */
type SnakeCase<S> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : S;

/** The JSON of a type of X. */
type Json<T> =
  IsAny<T> extends true ? T
  : T extends (infer Item)[] ? Json<Item>[]
  : T extends object ? { [Name in keyof T as SnakeCase<Name>]: Json<T[Name]> }
  : T;

/** Some fields of an answer. The record has only those that the service reads. */
type Some<T> =
  IsAny<T> extends true ? T
  : T extends (infer Item)[] ? Some<Item>[]
  : T extends object ? { [Name in keyof T]?: Some<T[Name]> }
  : T;

/** The parameters of a query, whose values are lists of names. X's `postFields` is `post.fields`. */
type Query<T> = {
  [Name in keyof T as string extends Name ? never : Name extends `${infer Of}Fields` ? `${Of}.fields` : Name]?: T[Name] extends
    | unknown[]
    | undefined
    ? T[Name]
    : string[];
};

/** A type with other types of some of its fields. */
type With<T, Fields> = Omit<T, keyof Fields> & Fields;

/** Vapi's documentation has the limits of numbers; its packages do not. */
interface Schema extends Omit<Vapi.JsonSchema, "items" | "properties"> {
  minimum?: number;
  maximum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
}

/**
 * An order of a call. Vapi's package says that the type of a plan is an object; its API takes the names that the
 * documentation has (findings/vapi_backoff_plan.sh).
 */
type Order = With<
  Vapi.CreateCallDto,
  {
    assistant?: With<
      Vapi.CreateAssistantDto,
      {
        server?: With<
          Vapi.Server,
          { backoffPlan?: With<Vapi.BackoffPlan, { type: "fixed" | "exponential" }> }
        >;
        artifactPlan?: With<
          Vapi.ArtifactPlan,
          { structuredOutputs?: With<Vapi.CreateStructuredOutputDto, { schema: Schema }>[] }
        >;
      }
    >;
  }
>;

/** An object without fields. */
declare const none: unique symbol;
type Nothing = { [none]?: never };

/** A form. The packages have no types of forms. */
type Form = Record<string, string>;

type GetPostsArguments = Parameters<PostsClient["getByIds"]>;
type GetPosts = { ids: GetPostsArguments[0] } & Query<NonNullable<GetPostsArguments[1]>>;

/** A callback of Vapi. */
type Callback<Message> = { query: Nothing; body: null; answer: { message: Some<Message> } };

export interface Requests {
  "x POST /2/oauth2/token": { query: Nothing; body: Form; answer: Some<OAuth2Token> };
  "x POST /2/oauth2/revoke": { query: Nothing; body: Form; answer: Nothing };
  "x GET /2/users/me": { query: Nothing; body: null; answer: Some<Json<Users.GetMeResponse>> };
  "x POST /2/tweets": {
    query: Nothing;
    body: Json<Posts.CreateRequest>;
    answer: Some<Json<Posts.CreateResponse>>;
  };
  "x GET /2/tweets": { query: GetPosts; body: null; answer: Some<Json<Posts.GetByIdsResponse>> };
  "whatsapp GET /v23.0/{id}": {
    query: Query<Omit<GetPhoneNumberOptions, "phoneNumberID">>;
    body: null;
    answer: Some<GetPhoneNumberPayload>;
  };
  "vapi POST /call": { query: Nothing; body: Order; answer: Some<Vapi.Call> };
  "vapi GET /call": { query: Query<Vapi.ListCallsRequest>; body: null; answer: Some<Vapi.Call>[] };
  "vapi GET /call/{id}": { query: Nothing; body: null; answer: Some<Vapi.Call> };
  "vapi DELETE /call/{id}": {
    query: Nothing;
    body: Omit<Vapi.DeleteCallDto, "id"> | null;
    answer: Some<Vapi.Call>;
  };
  "vapi callback status-update": Callback<Vapi.ServerMessageStatusUpdate>;
  "vapi callback end-of-call-report": Callback<Vapi.ServerMessageEndOfCallReport>;
}

export interface Errors {
  x: Some<Json<Schemas.Problem>>;
  whatsapp: Some<experimental.phoneNumber.components["schemas"]["GraphAPIError"]>;
}
