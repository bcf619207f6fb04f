import type { KeyStore } from '@gateway/metering/keys/key-store';
import type { TeamStore } from '@gateway/metering/teams/team-store';
import { createCatalog, NO_LOADS } from '@gateway/upstream/catalog';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY } from '../../api/admin-route.ts';
import { FoundPage, type FoundReply } from '../../api/schemas/operations.ts';
import type { ReadConfiguration } from '../../configuration/read-configuration.ts';
import { findKeys } from '../../keys/find-keys.ts';
import type { Principal } from '../../sessions/authenticate.ts';
import { isOverseer } from '../../sessions/roles.ts';
import type { SessionStore } from '../../sessions/session-store.ts';

type Found = z.infer<typeof FoundReply>;

const SearchQuery = z.strictObject({
  /** A part of a name, in upper or lower case. */
  q: z.string().trim().min(1).max(200),
});

/** Of each kind. */
const MAX_FOUND = 6;
/** Keys that are looked at for the names of their owners. */
const MAX_KEYS = 200;

interface SearchRoutesOptions {
  readonly keys: Pick<KeyStore, 'listKeys'>;
  readonly teams: Pick<TeamStore, 'listTeams'>;
  readonly sessions: Pick<SessionStore, 'list'>;
  readonly readConfiguration: ReadConfiguration;
  readonly now: () => number;
}

/** Whatever has a name, found by a part of it. */
export function searchRoutes(options: SearchRoutesOptions): AdminRoute[] {
  const { keys, teams, sessions, readConfiguration, now } = options;

  const keysAndOwners = async (text: string, { scope }: Principal): Promise<Found[]> => {
    const query = { search: text, sort: 'created', order: 'descending' } as const;
    const page = await findKeys(keys, query, { limit: MAX_KEYS, after: undefined, nowMs: now(), scope });
    const found = page.keys.map(({ id, name, team, owner }) => ({
      ...{ kind: 'key' as const, id, name },
      about: [team, owner].filter((part) => part !== null).join(', ') || null,
    }));
    const owners = page.keys.flatMap(({ owner }) => (owner === null ? [] : [owner]));
    return [...best(found, text), ...best(people(owners, 'owns keys'), text, isNamed(text))];
  };

  const foundTeams = async (text: string, { scope }: Principal): Promise<Found[]> => {
    const named = (name: string): Found => ({ kind: 'team', id: name, name, about: null });
    if (scope.kind === 'teams') return best(scope.teams.map(named), text, isNamed(text));
    const page = await teams.listTeams({ limit: MAX_KEYS, only: { search: text } });
    return best(
      page.teams.map(({ name }) => named(name)),
      text,
    );
  };

  const foundModels = async (text: string, { role }: Principal): Promise<Found[]> => {
    const configuration = await readConfiguration();
    if (configuration === undefined) return [];
    const channels = [...configuration.channels.values()].map(
      ({ name, provider }): Found => ({ kind: 'channel', id: name, name, about: provider }),
    );
    return [
      ...best(modelsOf(configuration), text, isNamed(text)),
      ...(isOverseer(role) ? best(channels, text, isNamed(text)) : []),
    ];
  };

  /** Who is signed in is known to those who may see sessions. */
  const signedIn = async (text: string, { role }: Principal): Promise<Found[]> => {
    if (role !== 'admin') return [];
    const names = (await sessions.list()).map(({ name }) => name);
    return best(people(names, 'signed in'), text, isNamed(text));
  };

  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/search',
      summary: 'Find keys, teams, models, channels and people by a part of their names; a few of each',
      query: SearchQuery,
      body: NO_BODY,
      reply: FoundPage,
      handle: async ({ query: { q }, principal }) => {
        const finders = [keysAndOwners, foundTeams, foundModels, signedIn];
        const found = await Promise.all(finders.map((find) => find(q, principal)));
        return { data: merged(found.flat()), next: null };
      },
    }),
  ];
}

function modelsOf(configuration: Configuration): Found[] {
  const catalog = createCatalog(configuration, { random: Math.random, loads: NO_LOADS });
  const named = catalog.listNamedModels().map(({ name, kind }) => ({ name, about: kind }));
  const known = new Set(catalog.listNamedModels().map(({ pattern }) => pattern));
  const patterns = catalog
    .listModels()
    .filter(({ pattern }) => !known.has(pattern))
    .map(({ pattern, kind }) => ({ name: pattern, about: kind }));
  return [...named, ...patterns].map((model) => ({ kind: 'model', id: model.name, ...model }));
}

const people = (names: readonly string[], about: string): Found[] =>
  [...new Set(names)].map((name) => ({ kind: 'person', id: name, name, about }));

const isNamed =
  (text: string) =>
  ({ name }: Found): boolean =>
    name.toLowerCase().includes(text.toLowerCase());

/** A few of them: those whose names are the text first, then those that begin with it, then those that have it. */
function best(found: readonly Found[], text: string, isWanted?: (one: Found) => boolean): Found[] {
  const wanted = text.toLowerCase();
  const distance = ({ name }: Found): number => {
    const at = name.toLowerCase().indexOf(wanted);
    if (at < 0) return 3;
    if (at > 0) return 2;
    return name.length === wanted.length ? 0 : 1;
  };
  return found
    .filter((one) => isWanted === undefined || isWanted(one))
    .toSorted((a, b) => distance(a) - distance(b))
    .slice(0, MAX_FOUND);
}

/** A person who owns keys and is signed in is one. */
function merged(found: readonly Found[]): Found[] {
  const known = new Map<string, Found>();
  for (const one of found) {
    const key = `${one.kind} ${one.id}`;
    const other = known.get(key);
    known.set(
      key,
      other === undefined ? one : { ...one, about: [other.about, one.about].filter(Boolean).join(', ') },
    );
  }
  return [...known.values()];
}
