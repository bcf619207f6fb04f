import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Actor } from '@gateway/metering/audit/audit-log';
import { openaiPath } from '@gateway/service-kit/error-response';
import { hasBody } from '@gateway/service-kit/request/check-request';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { validate } from '@gateway/service-kit/request/validate';
import type { Request } from 'express';
import { z } from 'zod';
import type { Principal } from '../sessions/authenticate.ts';

/** One call of the admin API. An error of `handle` becomes the reply. */
export interface AdminRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `{id}` for a segment of any value. */
  readonly path: string;
  readonly description: RouteDescription;
  /** `principal` is null only for calls that anyone may make. */
  readonly handle: (request: Request, principal: Principal | null, bounds: BodyBounds) => Promise<AdminReply>;
}

export interface BodyBounds {
  readonly maxJsonDepth: number;
}

/** A call in the API's description. */
export interface RouteDescription {
  readonly summary: string;
  readonly query: z.ZodType;
  readonly body: z.ZodType | null;
  readonly status: number;
  /** JSON of this shape, or text of these types. */
  readonly reply: z.ZodType | readonly string[];
}

export type AdminReply =
  /** Sent as JSON. */
  | { readonly status: number; readonly body: unknown }
  /** The browser goes there. */
  | { readonly status: number; readonly location: string }
  | { readonly status: number; readonly contentType: string; readonly stream: AsyncIterable<string> };

interface Call<Query, Body> {
  /** A value of the path's `{id}` or `{name}`. */
  readonly parameter: string;
  readonly query: Query;
  readonly body: Body;
  readonly by: Actor;
  /** The caller. On calls without authentication, a principal without rights. */
  readonly principal: Principal;
  /** For what only HTTP says, such as an address. */
  readonly request: Request;
  /** Adds a header to the answer. */
  readonly setHeader: (name: string, value: string | readonly string[]) => void;
}

const NOBODY: Principal = { role: 'viewer', scope: { kind: 'teams', teams: [] }, session: null };

interface RouteShape<Query extends z.ZodType, Body extends z.ZodType> {
  readonly method: AdminRoute['method'];
  readonly path: string;
  readonly summary: string;
  readonly query: Query;
  readonly body: Body;
  /** The description of the body, if `handle` checks it itself. */
  readonly describedAs?: z.ZodType;
  /** The body's texts may have several lines, because only the gateway reads them. */
  readonly takesLines?: true;
  readonly status?: number;
  readonly reply: RouteDescription['reply'];
}

interface RouteSpec<Query extends z.ZodType, Body extends z.ZodType> extends RouteShape<Query, Body> {
  readonly handle: (call: Call<z.infer<Query>, z.infer<Body>>) => Promise<unknown>;
}

interface StreamSpec<Query extends z.ZodType, Body extends z.ZodType> extends RouteShape<Query, Body> {
  readonly handle: (call: Call<z.infer<Query>, z.infer<Body>>) => Streamed | Promise<Streamed>;
}

interface Streamed {
  readonly contentType: string;
  readonly stream: AsyncIterable<string>;
}

interface RedirectSpec<Query extends z.ZodType>
  extends Omit<RouteShape<Query, z.ZodUndefined>, 'method' | 'status' | 'reply' | 'body'> {
  /** Resolves to where the browser goes. */
  readonly handle: (call: Call<z.infer<Query>, undefined>) => Promise<string>;
}

export const NO_QUERY = z.strictObject({});
export const NO_BODY = z.undefined();
const MAX_BODY_BYTES = 256 * 1024;

/** A call whose query and body are checked before it is handled, and that answers with JSON. */
export function adminRoute<Query extends z.ZodType, Body extends z.ZodType>(
  spec: RouteSpec<Query, Body>,
): AdminRoute {
  const described = describe(spec);
  const { status } = described.description;
  const handle: AdminRoute['handle'] = async (request, principal, bounds) => ({
    status,
    body: await spec.handle(await readCall(request, principal ?? NOBODY, spec, bounds)),
  });
  return { ...described, handle };
}

/** The same, for an answer that is a stream of text. */
export function streamRoute<Query extends z.ZodType, Body extends z.ZodType>(
  spec: StreamSpec<Query, Body>,
): AdminRoute {
  const described = describe(spec);
  const { status } = described.description;
  const handle: AdminRoute['handle'] = async (request, principal, bounds) => ({
    status,
    ...(await spec.handle(await readCall(request, principal ?? NOBODY, spec, bounds))),
  });
  return { ...described, handle };
}

/** A call that a browser makes by going there, and that sends it on. */
export function redirectRoute<Query extends z.ZodType>({ handle, ...spec }: RedirectSpec<Query>): AdminRoute {
  const shape = { ...spec, method: 'GET', body: NO_BODY, status: 303, reply: [] } as const;
  return {
    ...describe(shape),
    handle: async (request, principal, bounds) => ({
      status: shape.status,
      location: await handle(await readCall(request, principal ?? NOBODY, shape, bounds)),
    }),
  };
}

const describe = <Query extends z.ZodType, Body extends z.ZodType>(shape: RouteShape<Query, Body>) => ({
  method: shape.method,
  path: shape.path,
  description: {
    summary: shape.summary,
    query: shape.query,
    body: shape.describedAs ?? (isNoBody(shape.body) ? null : shape.body),
    status: shape.status ?? 200,
    reply: shape.reply,
  },
});

const isNoBody = (schema: z.ZodType): boolean => schema instanceof z.ZodUndefined;

/** A body that may be left out, as by a POST without any. */
const isAbsent = ({ headers }: Request, body: z.ZodType): boolean => {
  if (isNoBody(body)) return true;
  return !hasBody(headers) && body instanceof z.ZodDefault;
};

async function readCall<Query extends z.ZodType, Body extends z.ZodType>(
  request: Request,
  principal: Principal,
  { query, body, takesLines }: RouteShape<Query, Body>,
  { maxJsonDepth }: BodyBounds,
): Promise<Call<z.infer<Query>, z.infer<Body>>> {
  const bounds = { maxBytes: MAX_BODY_BYTES, maxDepth: maxJsonDepth };
  const sent = isAbsent(request, body) ? undefined : (await readJsonBody(request, bounds)).value;
  checkPlain(request.query);
  if (!takesLines) checkPlain(sent);
  const [parameter] = Object.values(request.params);
  return {
    parameter: typeof parameter === 'string' ? parameter : '',
    query: validate(query, request.query),
    body: validate(body, sent),
    by: actorOf(request, principal),
    principal,
    request,
    setHeader: (name, value) => request.res?.setHeader(name, value),
  };
}

const ACTOR_HEADER = 'x-gateway-actor';
/** A name for the audit log: printable, bounded. */
const ACTOR_NAME = /^[\x20-\x7e]{1,100}$/;

/** A session has a name; all clients with the admin token share that, so each sends its user's name. */
function actorOf(request: Request, { session }: Principal): Actor {
  const sent = request.headers[ACTOR_HEADER];
  const named = typeof sent === 'string' && ACTOR_NAME.test(sent) ? sent : 'admin';
  const who = session?.name ?? named;
  const requestId = request.res?.getHeader('x-request-id');
  return { who, requestId: typeof requestId === 'string' ? requestId : null };
}

type Path = readonly (string | number)[];

/**
 * Characters that steer a terminal (C0, DEL and C1), and those that change the direction of the text around them. Names and
 * labels are printed by the command line and by others' tools.
 */
const CONTROL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/**
 * Checks every member of a request, of any meaning: texts and names without control characters, and no member
 * `__proto__`, which schemas drop without an error.
 *
 * @throws {GatewayError} for the first mistake, with its path
 */
function checkPlain(value: unknown, path: Path = []): void {
  if (typeof value === 'string' && CONTROL.test(value)) throw hasControl(path);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (CONTROL.test(name)) throw hasControl(path);
    const at = [...path, Array.isArray(value) ? Number(name) : name];
    if (name === '__proto__') throw reserved(at);
    checkPlain(inner, at);
  }
}

const hasControl = (path: Path): GatewayError =>
  new GatewayError('invalid_value', {
    message: `Invalid value for '${openaiPath(path)}': it has a control character, such as a line break. Send printable text.`,
    path: [...path],
  });

const reserved = (path: Path): GatewayError =>
  new GatewayError('unknown_parameter', {
    message: `Unknown parameter: '${openaiPath(path)}'. This name cannot be used.`,
    path: [...path],
  });
