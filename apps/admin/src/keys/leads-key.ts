import { GatewayError } from '@gateway/contracts/gateway-error';
import { JobShare, type KeyLimits, type KeyPriority } from '@gateway/contracts/identity';
import type { KeySettings } from '@gateway/metering/keys/settings';
import type { Principal } from '../sessions/authenticate.ts';

/** What an existing key has of the members that matter here. */
interface KeyBefore {
  readonly team: string | null;
  readonly priority: KeyPriority;
  readonly limits: KeyLimits;
}

const NEW: Pick<KeyBefore, 'priority' | 'limits'> = { priority: 'normal', limits: {} };
const SHARES = Object.keys(JobShare.shape) as readonly (keyof JobShare)[];

/**
 * A new key of a team lead is one of its teams.
 *
 * @throws {GatewayError} `invalid_value` with the member's path
 */
export function checkLeadsKey(settings: KeySettings, { scope }: Principal): void {
  if (scope.kind === 'all') return;
  const teams = scope.kind === 'teams' ? scope.teams : [];
  if (settings.team === undefined || !teams.includes(settings.team))
    throw refused(['team'], `name one of your teams: ${teams.join(', ') || 'you have none'}`);
  checkRank(NEW, settings);
}

/**
 * A team lead leaves a key in its team, and leaves alone what puts its requests before those of other teams. How much a key may
 * use is the lead's decision: the team's own limits and budget, which a lead cannot change, bound all its keys together.
 *
 * @throws {GatewayError} `invalid_value` with the member's path
 */
export function checkLeadsChange(before: KeyBefore, settings: KeySettings, { scope }: Principal): void {
  if (scope.kind === 'all') return;
  if ((settings.team ?? null) !== before.team)
    throw refused(['team'], 'only an admin can move a key to another team');
  checkRank(before, settings);
}

/** All keys of the gateway share its workers, its storage and what it takes on. */
function checkRank(
  { priority, limits }: Pick<KeyBefore, 'priority' | 'limits'>,
  settings: KeySettings,
): void {
  if ((settings.priority ?? NEW.priority) !== priority)
    throw refused(['priority'], 'only an admin can change the priority of requests');
  const changed = SHARES.find((name) => settings.limits?.[name] !== limits[name]);
  if (changed !== undefined)
    throw refused(
      ['limits', changed],
      "only an admin can change a key's share of the workers and the storage",
    );
}

const refused = (path: string[], reason: string): GatewayError =>
  new GatewayError('invalid_value', {
    message: `Invalid value for '${path.join('.')}': ${reason}.`,
    path,
  });
