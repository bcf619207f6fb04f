import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TeamStore } from '@gateway/metering/teams/team-store';
import type { Changed, PeopleStore, PersonRecord } from '@gateway/records/people/people-store';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { PersonLinkReply, PersonPage, PersonReply, PersonStates } from '../../api/schemas/access.ts';
import { pageQuery } from '../../api/schemas/page.ts';
import type { LinkLimits } from '../../people/link-limits.ts';
import type { SendLink } from '../../people/link-mail.ts';
import { checkGrant, managesPerson, seenPerson, seesPerson } from '../../people/manages.ts';
import {
  Email,
  loggedPerson,
  newLink,
  newPersonId,
  PERSON_ID,
  PersonName,
  PersonRole,
  RoleTeams,
  shownPerson,
} from '../../people/person.ts';
import type { Principal } from '../../sessions/authenticate.ts';
import type { SessionStore } from '../../sessions/session-store.ts';

interface PeopleRoutesOptions {
  readonly people: PeopleStore;
  readonly teams: Pick<TeamStore, 'getTeam'>;
  readonly sessions: Pick<SessionStore, 'endAllOf'>;
  readonly links: LinkLimits;
  readonly sendLink: SendLink;
  /** Where browsers reach the console; null: it is not known, and links begin with a path. */
  readonly consoleUrl: string | null;
  readonly basePath: string;
  readonly now: () => number;
}

const LinkBody = z.strictObject({
  /** Whether the gateway sends the link to the person; the response says whether it did. */
  sendEmail: z.boolean().default(false),
});

const NewPerson = LinkBody.extend({
  email: Email,
  name: PersonName,
  role: PersonRole,
  /** For the roles of teams. */
  teams: RoleTeams.default([]),
});

const PersonPatch = z.strictObject({
  name: PersonName.optional(),
  role: PersonRole.optional(),
  teams: RoleTeams.optional(),
  disabled: z.boolean().optional(),
});

const PeopleQuery = pageQuery(PERSON_ID).extend({
  /** A part of names or e-mail addresses. */
  q: z.string().max(100).optional(),
  state: PersonStates.optional(),
  role: PersonRole.optional(),
  team: z.string().max(100).optional(),
});

interface LinkCall {
  readonly principal: Principal;
  readonly by: Parameters<PeopleStore['change']>[2];
  readonly body: z.infer<typeof LinkBody>;
}

/** Where the console asks for a password. What follows the sign # never reaches a server or its log. */
const LINK_PATH = '/console/set-password#';

/** The people who sign in with a password: invite, list, change, sign out and delete them. */
export function peopleRoutes(options: PeopleRoutesOptions): AdminRoute[] {
  const { people, teams, sessions, links, sendLink, consoleUrl, basePath, now } = options;
  const shownTo = (principal: Principal, person: PersonRecord) => ({
    ...shownPerson(seenPerson(principal.scope, person)),
    mayChange: managesPerson(principal, person),
  });
  const linkOf = (token: string): string =>
    `${consoleUrl === null ? '' : new URL(consoleUrl).origin}${basePath}${LINK_PATH}${token}`;

  /** The person with the link, which is sent if that was asked for. */
  const withLink = async (
    person: PersonRecord,
    token: string,
    { principal, by, body: { sendEmail } }: LinkCall,
  ) => {
    const link = linkOf(token);
    const { id: personId, email: to, passwordHash, link: stored } = person;
    const isInvitation = passwordHash === null;
    const delivery =
      sendEmail && stored !== null
        ? await sendLink({
            ...{ link, personId, to, isInvitation, by: by.who },
            expiresAtMs: stored.expiresAtMs,
          })
        : null;
    return { ...shownTo(principal, person), link, delivery };
  };

  const checkTeams = async (names: readonly string[]): Promise<void> => {
    const found = await Promise.all(names.map(teams.getTeam));
    const at = found.indexOf(undefined);
    if (at < 0) return;
    throw new GatewayError('invalid_value', {
      message: `Invalid value for 'teams': there is no team '${names[at]}'. Create it first.`,
      path: ['teams'],
    });
  };

  /** @throws {GatewayError} for a person that is not seen, as for one that does not exist; for one that only admins change */
  const change = async (
    id: string,
    { principal, by }: { readonly principal: Principal; readonly by: Parameters<PeopleStore['change']>[2] },
    changed: (before: PersonRecord) => Changed<PersonRecord | null>,
  ): Promise<PersonRecord> => {
    const person = await people.change(
      id,
      (before) => {
        if (!seesPerson(principal.scope, before)) throw missing(id);
        if (!managesPerson(principal, before)) throw adminsOnly();
        return changed(before);
      },
      by,
    );
    if (person === undefined) throw missing(id);
    return person;
  };

  return [
    adminRoute({
      method: 'POST',
      path: '/admin/v1/people',
      summary: 'Invite a person; only this response has the link by which the person sets a password',
      query: NO_QUERY,
      body: NewPerson,
      status: 201,
      reply: PersonLinkReply,
      handle: async ({ body, by, principal }) => {
        const { sendEmail, ...invited } = body;
        checkGrant(principal, invited);
        await checkTeams(invited.teams);
        await links.begin(invited.email, by.who);
        const nowMs = now();
        const { token, link } = newLink(null, nowMs);
        const person: PersonRecord = {
          ...{ ...invited, id: newPersonId(nowMs), link, createdAtMs: nowMs },
          ...{ isDisabled: false, passwordHash: null, epoch: 0, lastSignInAtMs: null },
        };
        await people.add(person, by, {
          action: 'person.invited',
          before: null,
          after: loggedPerson(person),
        });
        return withLink(person, token, { principal, by, body: { sendEmail } });
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/people',
      summary: 'List the people who sign in with a password, newest first',
      query: PeopleQuery,
      body: NO_BODY,
      reply: PersonPage,
      handle: async ({ query: { limit, cursor, q, state, role, team }, principal }) => {
        const { scope } = principal;
        const own = scope.kind === 'teams' ? scope.teams : undefined;
        const asked = team === undefined ? own : own === undefined || own.includes(team) ? [team] : [];
        const only = { containing: q, state, role, teams: asked };
        const page = await people.list({ limit, after: cursor, only });
        return { data: page.people.map((person) => shownTo(principal, person)), next: page.next };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/people/{id}',
      summary: 'Read a person',
      query: NO_QUERY,
      body: NO_BODY,
      reply: PersonReply,
      handle: async ({ parameter: id, principal }) => {
        const person = await people.get(id);
        if (person === undefined || !seesPerson(principal.scope, person)) throw missing(id);
        return shownTo(principal, person);
      },
    }),
    adminRoute({
      method: 'PATCH',
      path: '/admin/v1/people/{id}',
      summary: "Update a person, or disable it; takes effect on the person's next call",
      query: NO_QUERY,
      body: PersonPatch,
      reply: PersonReply,
      handle: async ({ parameter: id, body, by, principal }) => {
        if (body.teams !== undefined) await checkTeams(body.teams);
        const person = await change(id, { principal, by }, (before) => {
          const role = body.role ?? PersonRole.parse(before.role);
          const next: PersonRecord = {
            ...before,
            ...{ name: body.name ?? before.name, role, teams: body.teams ?? before.teams },
            isDisabled: body.disabled ?? before.isDisabled,
          };
          checkGrant(principal, { role, teams: next.teams });
          if (next.role !== before.role || next.isDisabled) checkOther(id, principal);
          const isNewlyDisabled = next.isDisabled && !before.isDisabled;
          return {
            // Sessions and the link of a disabled person stay without effect when it is enabled again.
            next: isNewlyDisabled ? { ...next, epoch: before.epoch + 1, link: null } : next,
            audit: { action: 'person.changed', before: loggedPerson(before), after: loggedPerson(next) },
          };
        });
        if (person.isDisabled) await sessions.endAllOf(id, by);
        return shownTo(principal, person);
      },
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/people/{id}',
      summary: 'Delete a person, with its sessions and its link',
      query: NO_QUERY,
      body: NO_BODY,
      reply: PersonReply,
      handle: async ({ parameter: id, by, principal }) => {
        const person = await change(id, { principal, by }, (before) => {
          checkOther(id, principal);
          return {
            next: null,
            audit: { action: 'person.deleted', before: loggedPerson(before), after: null },
          };
        });
        await sessions.endAllOf(id, by);
        return shownTo(principal, person);
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/people/{id}/link',
      summary: 'Create a link to set a password, for an invitation or a reset; earlier links stop working',
      query: NO_QUERY,
      body: LinkBody.default({ sendEmail: false }),
      reply: PersonLinkReply,
      handle: async ({ parameter: id, by, principal, body }) => {
        const found = await people.get(id);
        if (found !== undefined && managesPerson(principal, found)) await links.begin(found.email, by.who);
        let token = '';
        const person = await change(id, { principal, by }, (before) => {
          if (before.isDisabled)
            throw new GatewayError('conflict', 'This person is disabled. Enable the person first.');
          const made = newLink(before.passwordHash, now());
          token = made.token;
          const next = { ...before, link: made.link };
          return { next, audit: { action: 'person.link_created', before: null, after: loggedPerson(next) } };
        });
        return withLink(person, token, { principal, by, body });
      },
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/people/{id}/link',
      summary: 'Revoke the link by which a person can set a password',
      query: NO_QUERY,
      body: NO_BODY,
      reply: PersonReply,
      handle: async ({ parameter: id, by, principal }) => {
        const person = await change(id, { principal, by }, (before) => {
          if (before.link === null) throw new GatewayError('object_not_found', 'There is no link.');
          const next = { ...before, link: null };
          return {
            next,
            audit: { action: 'person.link_revoked', before: loggedPerson(before), after: null },
          };
        });
        return shownTo(principal, person);
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/people/{id}/sign-out',
      summary: 'End all sessions of a person immediately',
      query: NO_QUERY,
      body: NO_BODY,
      reply: PersonReply,
      handle: async ({ parameter: id, by, principal }) => {
        const person = await change(id, { principal, by }, (before) => ({
          next: { ...before, epoch: before.epoch + 1 },
          audit: { action: 'person.signed_out', before: loggedPerson(before), after: null },
        }));
        await sessions.endAllOf(id, by);
        return shownTo(principal, person);
      },
    }),
  ];
}

const missing = (id: string): GatewayError =>
  new GatewayError('object_not_found', `There is no person '${id}'.`);

const adminsOnly = (): GatewayError =>
  new GatewayError(
    'endpoint_not_allowed',
    'Only an admin can change this person: a team lead changes the members of its own teams.',
  );

/** An admin cannot lose the role by a change of their own. @throws {GatewayError} `conflict` */
function checkOther(id: string, { session }: Principal): void {
  if (session?.person?.id !== id) return;
  throw new GatewayError('conflict', 'You cannot change your own role, or disable or delete yourself.');
}
