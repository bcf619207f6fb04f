import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Changed, PeopleStore, PersonRecord } from '@gateway/records/people/people-store';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { OwnSessionReply, PasswordLinkReply } from '../../api/schemas/access.ts';
import type { PasswordAttempts } from '../../people/password-attempts.ts';
import type { PasswordHashes } from '../../people/password-hash.ts';
import { checkPassword, MAX_PASSWORD_CHARS } from '../../people/password-rules.ts';
import { LINK_TOKEN, linkDigest, loggedPerson, rightsOf } from '../../people/person.ts';
import { checkOrigin } from '../../sessions/authenticate.ts';
import type { AddressOf } from '../../sessions/client-address.ts';
import type { OpenSession } from '../../sessions/open-session.ts';
import type { SessionStore } from '../../sessions/session-store.ts';
import type { Person } from '../../sessions/sign-in.ts';
import type { SignInAttempts } from '../../sessions/sign-in-attempts.ts';

interface PasswordRoutesOptions {
  readonly people: PeopleStore;
  readonly hashes: PasswordHashes;
  readonly attempts: PasswordAttempts;
  /** Of links that do not work. */
  readonly guesses: SignInAttempts;
  readonly sessions: Pick<SessionStore, 'endAllOf'>;
  readonly openSession: OpenSession;
  readonly addressOf: AddressOf;
  readonly now: () => number;
}

const Password = z.string().min(1).max(MAX_PASSWORD_CHARS);
const Token = z.string().max(100);

/** Set a password by a link, and change one's own. */
export function passwordRoutes(options: PasswordRoutesOptions): AdminRoute[] {
  const { people, hashes, attempts, guesses, sessions, openSession, addressOf, now } = options;

  const isUsable = ({ link, isDisabled }: PersonRecord, digest: string): boolean =>
    link !== null && link.digest === digest && link.expiresAtMs > now() && !isDisabled;

  const personOfLink = async (token: string, address: string): Promise<PersonRecord> => {
    const person = LINK_TOKEN.test(token) ? await people.findByLink(linkDigest(token)) : undefined;
    if (person !== undefined && isUsable(person, linkDigest(token))) return person;
    await guesses.fail(address);
    throw unusable();
  };

  return [
    adminRoute({
      method: 'POST',
      path: '/admin/v1/password-link',
      summary: 'Whose link to set a password this is',
      query: NO_QUERY,
      body: z.strictObject({ token: Token }),
      reply: PasswordLinkReply,
      handle: async ({ body: { token }, request }) => {
        checkOrigin(request);
        const { email, name, passwordHash } = await personOfLink(token, addressOf(request));
        return { email, name, isInvitation: passwordHash === null };
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/password',
      summary: 'Set a password by a link, which works once, and sign in: the response sets a session cookie',
      query: NO_QUERY,
      body: z.strictObject({ token: Token, password: Password }),
      status: 201,
      reply: OwnSessionReply,
      handle: async (call) => {
        const { body, request, by } = call;
        checkOrigin(request);
        const digest = linkDigest(body.token);
        const found = await personOfLink(body.token, addressOf(request));
        checkPassword(body.password, found);
        const passwordHash = await hashes.hash(body.password);
        const person = await people.change(
          found.id,
          (before) => {
            // Somebody else may have used it meanwhile.
            if (!isUsable(before, digest)) throw unusable();
            return withPassword(before, passwordHash, now());
          },
          { ...by, who: found.email },
        );
        if (person === undefined) throw unusable();
        await sessions.endAllOf(person.id, { ...by, who: found.email });
        return openSession('password', call, async () => personSigningIn(person));
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/session/password',
      summary: "Change one's own password; all other sessions of the person end",
      query: NO_QUERY,
      body: z.strictObject({ current: Password, password: Password }),
      reply: OwnSessionReply,
      handle: async (call) => {
        const { body, request, by, principal } = call;
        const own = principal.session?.person;
        const person = own && (await people.get(own.id));
        if (person === undefined)
          throw new GatewayError(
            'object_not_found',
            'You did not sign in with a password, so there is none.',
          );
        const address = addressOf(request);
        await attempts.begin(person.email, address);
        if (!(await hashes.isOf(body.current, person.passwordHash)))
          throw new GatewayError('invalid_value', {
            message: "Invalid value for 'current': this is not your password.",
            path: ['current'],
          });
        await attempts.succeed(person.email, address);
        checkPassword(body.password, person);
        const passwordHash = await hashes.hash(body.password);
        const changed = await people.change(
          person.id,
          (before) => {
            if (rightsOf(before, own?.epoch ?? -1) === undefined)
              throw new GatewayError('invalid_key', 'Your session has ended. Sign in again.');
            return withPassword(before, passwordHash, now());
          },
          by,
        );
        await sessions.endAllOf(person.id, by);
        return openSession('password', call, async () => personSigningIn(changed ?? person));
      },
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/session/others',
      summary: "End all sessions of one's own but this one",
      query: NO_QUERY,
      body: NO_BODY,
      reply: OwnSessionReply,
      handle: async (call) => {
        const { by, principal } = call;
        const own = principal.session?.person;
        const person =
          own &&
          (await people.change(
            own.id,
            (before) => ({
              next: { ...before, epoch: before.epoch + 1 },
              audit: { action: 'person.signed_out', before: loggedPerson(before), after: null },
            }),
            by,
          ));
        if (person === undefined)
          throw new GatewayError(
            'object_not_found',
            'You did not sign in with a password: the gateway does not know which other sessions are yours.',
          );
        await sessions.endAllOf(person.id, by);
        return openSession('password', call, async () => personSigningIn(person));
      },
    }),
  ];
}

/** The person with a password, signed in by it: sessions and the link of before have ended. */
function withPassword(before: PersonRecord, passwordHash: string, nowMs: number): Changed<PersonRecord> {
  const epoch = before.epoch + 1;
  const next = { ...before, passwordHash, link: null, epoch, lastSignInAtMs: nowMs };
  const audit = {
    action: 'person.password_set' as const,
    before: loggedPerson(before),
    after: loggedPerson(next),
  };
  return { next, audit };
}

/** @throws {GatewayError} `invalid_key` for one who may not sign in */
export function personSigningIn(person: PersonRecord): Person {
  const rights = rightsOf(person, person.epoch);
  if (rights === undefined) throw wrongPassword();
  // The address is one person's; the name anybody may have.
  return { name: person.email, keyHash: null, ...rights, person: { id: person.id, epoch: person.epoch } };
}

/** The same for an unknown address, a wrong password, and a person who is disabled or has none yet. */
export const wrongPassword = (): GatewayError =>
  new GatewayError('invalid_key', 'The e-mail address or the password is wrong.');

const unusable = (): GatewayError =>
  new GatewayError(
    'invalid_key',
    'This link does not work: it was used, revoked or replaced, or has expired. Ask who invited you for another one.',
  );
