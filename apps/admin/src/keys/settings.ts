import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ShownKey } from '@gateway/metering/keys/key-record';
import { KeySettings, TeamSettings } from '@gateway/metering/keys/settings';
import type { ShownTeam } from '@gateway/metering/teams/team-record';
import { validate } from '@gateway/service-kit/request/validate';

const BUDGET_MEMBERS = ['usd', 'period', 'allowUnpriced'];

/** @throws {GatewayError} for the first mistake, with its path */
export function checkKeySettings(value: unknown): KeySettings {
  checkCurrency(value);
  return validate(KeySettings, value);
}

/** @throws {GatewayError} for the first mistake, with its path */
export function checkTeamSettings(value: unknown): TeamSettings {
  checkCurrency(value);
  return validate(TeamSettings, value);
}

/** @throws {GatewayError} for a key that would expire in the past */
export function checkExpiry({ expiresAt }: KeySettings, nowMs: number): void {
  if (expiresAt === undefined || Date.parse(expiresAt) > nowMs) return;
  throw new GatewayError('invalid_value', {
    message: "Invalid value for 'expiresAt': it is in the past.",
    path: ['expiresAt'],
  });
}

/** The error for a budget in another currency names the currency, not the missing member. */
function checkCurrency(value: unknown): void {
  const budget = typeof value === 'object' && value !== null && 'budget' in value ? value.budget : undefined;
  if (typeof budget !== 'object' || budget === null) return;
  const unknown = Object.keys(budget).find((name) => !BUDGET_MEMBERS.includes(name));
  if (unknown === undefined) return;
  throw new GatewayError('unknown_parameter', {
    message: `Unknown parameter: 'budget.${unknown.slice(0, 64)}'. A budget is in US dollars, such as {"usd": 25, "period": "month"}.`,
    path: ['budget', unknown.slice(0, 64)],
  });
}

/** The members that are set, in the form of a request for the same key or team. */
const present = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

export const keySettingsOf = ({
  id: _id,
  createdAt: _createdAt,
  revokedAt: _revokedAt,
  oldSecretUntil: _oldSecretUntil,
  webhookSecretMadeAt: _webhookSecretMadeAt,
  oldWebhookSecretUntil: _oldWebhookSecretUntil,
  ...settings
}: ShownKey) => present(settings);

export const teamSettingsOf = ({ createdAt: _createdAt, ...settings }: ShownTeam) => present(settings);
