import { GatewayError } from '@gateway/contracts/gateway-error';
import type { KeyFinder } from '@gateway/metering/keys/find-key';
import type { PeopleStore } from '@gateway/records/people/people-store';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { OwnSessionReply, SessionList, SessionReply } from '../../api/schemas/access.ts';
import type { PasswordAttempts } from '../../people/password-attempts.ts';
import type { PasswordHashes } from '../../people/password-hash.ts';
import { MAX_PASSWORD_CHARS } from '../../people/password-rules.ts';
import { checkOrigin, isOverTls } from '../../sessions/authenticate.ts';
import type { AddressOf } from '../../sessions/client-address.ts';
import { type OpenSession, shownOwnSession, shownSession } from '../../sessions/open-session.ts';
import { ALL } from '../../sessions/scope.ts';
import type { SessionCookies } from '../../sessions/session-cookie.ts';
import {
  SESSION_ID,
  type Session,
  type SessionStore,
  type SignInMethod,
} from '../../sessions/session-store.ts';
import type { Person } from '../../sessions/sign-in.ts';
import { personSigningIn, wrongPassword } from './password-routes.ts';

interface SessionRoutesOptions {
  readonly sessions: SessionStore;
  readonly cookies: SessionCookies;
  readonly openSession: OpenSession;
  readonly people: PeopleStore;
  readonly hashes: PasswordHashes;
  /** Of passwords. */
  readonly attempts: PasswordAttempts;
  readonly addressOf: AddressOf;
  readonly now: () => number;
  /** Throws for anything but the admin token. */
  readonly checkToken: (authorization: string | undefined) => void;
  readonly keys: Pick<KeyFinder, 'findKey'>;
  /** The keyed hash of a key's secret. */
  readonly hashSecret: (secret: string) => string;
}

const secret = z.string().min(1).max(1000);

const SignInBody = z.strictObject({
  /** The admin token. */
  token: secret.optional(),
  /** Or a key's secret. */
  key: secret.optional(),
  /** Or the address and the password of a person. */
  email: z.string().trim().toLowerCase().max(254).optional(),
  password: z.string().min(1).max(MAX_PASSWORD_CHARS).optional(),
  /** Who signs in with the token, for the audit log: what the person says, not a proof. */
  name: z
    .string()
    .regex(/^[\x20-\x7e]{1,100}$/, 'it must have 1 to 100 printable ASCII characters')
    .default('admin'),
});
type SignInBody = z.infer<typeof SignInBody>;

/** Sign in to the console, sign out, and see and end the sessions of all people. */
export function sessionRoutes(options: SessionRoutesOptions): AdminRoute[] {
  const { sessions, cookies, openSession, checkToken, keys, hashSecret } = options;
  const { people, hashes, attempts, addressOf, now } = options;

  /** Takes as long for an address that nobody has. */
  const identifyByPassword = async (email: string, password: string, address: string): Promise<Person> => {
    await attempts.begin(email, address);
    const person = await people.findByEmail(email);
    const isRight = await hashes.isOf(password, person?.passwordHash ?? null);
    if (person === undefined || !isRight) throw wrongPassword();
    const signing = personSigningIn(person);
    await attempts.succeed(email, address);
    await people.noteSignIn(person.id, now());
    return signing;
  };

  const identify = async (
    { token, key, email, password, name }: SignInBody,
    address: string,
  ): Promise<Person> => {
    if (email !== undefined) return identifyByPassword(email, password ?? '', address);
    if (token !== undefined) {
      checkToken(`Bearer ${token.trim()}`);
      return { name, role: 'admin', scope: ALL, keyHash: null };
    }
    const found = await keys.findKey(key?.trim() ?? '');
    if (found === undefined)
      throw new GatewayError('invalid_key', 'This is not a key, or it was revoked, disabled or has expired.');
    const { keyId, keyName } = found.identity;
    const scope = { kind: 'key', keyId } as const;
    return { name: keyName, role: 'key-holder', scope, keyHash: hashSecret(key?.trim() ?? '') };
  };

  return [
    adminRoute({
      method: 'POST',
      path: '/admin/v1/session',
      summary:
        'Sign in with the admin token, a key, or an e-mail address and a password: the response sets a session cookie',
      query: NO_QUERY,
      body: SignInBody,
      status: 201,
      reply: OwnSessionReply,
      handle: async (call) => {
        const { body } = call;
        checkOrigin(call.request);
        const method = methodOf(body);
        return openSession(method, call, () => identify(body, addressOf(call.request)));
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/session',
      summary: 'Who is signed in, and which calls that person may make',
      query: NO_QUERY,
      body: NO_BODY,
      reply: OwnSessionReply,
      handle: async ({ principal }) => shownOwnSession(ownSession(principal.session)),
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/session',
      summary: 'Sign out',
      query: NO_QUERY,
      body: NO_BODY,
      reply: SessionReply,
      handle: async ({ principal, request, by, setHeader }) => {
        const session = ownSession(principal.session);
        await sessions.end(session.id, by);
        setHeader('set-cookie', cookies.clear({ isSecure: isOverTls(request) }));
        return shownSession(session);
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/sessions',
      summary: 'List the active sessions of the console, newest first',
      query: NO_QUERY,
      body: NO_BODY,
      reply: SessionList,
      handle: async () => ({ data: (await sessions.list()).map(shownSession), next: null }),
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/sessions/{id}',
      summary: 'End a session of the console immediately',
      query: NO_QUERY,
      body: NO_BODY,
      reply: z.strictObject({ id: z.string() }),
      handle: async ({ parameter: id, by }) => {
        if (!SESSION_ID.test(id) || !(await sessions.end(id, by)))
          throw new GatewayError('object_not_found', `There is no session '${id}', or it has ended.`);
        return { id };
      },
    }),
  ];
}

/** @throws {GatewayError} `invalid_value` for none, or for more than one */
function methodOf({ token, key, email, password }: SignInBody): SignInMethod {
  const isPassword = email !== undefined && password !== undefined;
  const sent = [token !== undefined, key !== undefined, email !== undefined || password !== undefined];
  if (sent.filter(Boolean).length === 1) {
    if (token !== undefined) return 'token';
    if (key !== undefined) return 'key';
    if (isPassword) return 'password';
  }
  throw new GatewayError('invalid_value', {
    message: "Send the admin token as 'token', a key as 'key', or 'email' and 'password'.",
    path: ['token'],
  });
}

function ownSession(session: Session | null): Session {
  if (session !== null) return session;
  throw new GatewayError('object_not_found', 'There is no session: this call came with the admin token.');
}
