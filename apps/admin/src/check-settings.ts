import { GatewayError } from '@gateway/contracts/gateway-error';
import { KeySettings, TeamSettings } from '@gateway/metering/keys/settings';
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
    message: "Invalid value for 'expiresAt': it lies in the past.",
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
