import { KeyLimits, ModelLimits } from '@gateway/contracts/identity';
import { list, numberOrText, pair, UsageError, type Values } from './options.ts';

type Json = Record<string, unknown>;

/** The body that makes or changes a key or a team: only the members that the options name. The service checks it. */
export function settingsBody(values: Values): Json {
  if (values.disable && values.enable) throw new UsageError('Use either --disable or --enable');
  const body: Json = {};
  for (const name of ['name', 'team', 'owner', 'priority'] as const)
    if (values[name] !== undefined) body[name] = values[name];
  for (const name of ['models', 'endpoints'] as const)
    if (values[name] !== undefined) body[name] = list(values[name]);
  if (values['webhook-url'] !== undefined) body.webhookUrl = values['webhook-url'];
  if (values['expires-at'] !== undefined) body.expiresAt = values['expires-at'];
  if (values.disable || values.enable) body.disabled = values.disable;
  if (values.label !== undefined)
    body.labels = Object.fromEntries(values.label.map((text) => pair(text, 'A label')));
  const limits = limitsOf(values);
  if (Object.keys(limits).length > 0) body.limits = limits;
  const budget = budgetOf(values);
  if (Object.keys(budget).length > 0) body.budget = budget;
  return (values.remove ?? []).reduce((left, member) => removed(left, pathOf(member)), body);
}

const MODEL_LIMIT_NAMES = Object.keys(ModelLimits.shape);
const LIMIT_NAMES = Object.keys(KeyLimits.shape).filter((name) => name !== 'models');

/** @throws {UsageError} for a name that is not among the known ones */
function checkLimitName(name: string, known: readonly string[]): void {
  if (!known.includes(name)) throw new UsageError(`Unknown limit: ${name}. Limits are ${known.join(', ')}.`);
}

const limitsOf = (values: Values): Json => ({
  ...Object.fromEntries((values.limit ?? []).map(ownLimitOf)),
  ...(values['model-limit'] === undefined ? {} : { models: modelLimitsOf(values['model-limit']) }),
});

/** Of `PATTERN:NAME=COUNT`; patterns may hold colons, limits' names do not. */
function modelLimitsOf(texts: readonly string[]): Json {
  const models = new Map<string, Json>();
  for (const text of texts) {
    const [name, count] = limitOf(text);
    const at = name.lastIndexOf(':');
    if (at < 1) throw new UsageError(`A model limit must be PATTERN:NAME=COUNT, not ${text}`);
    const pattern = name.slice(0, at);
    const limit = name.slice(at + 1);
    checkLimitName(limit, MODEL_LIMIT_NAMES);
    models.set(pattern, { ...models.get(pattern), [limit]: count });
  }
  return Object.fromEntries(models);
}

function ownLimitOf(text: string): [string, number | string] {
  const [name, count] = limitOf(text);
  checkLimitName(name, LIMIT_NAMES);
  return [name, count];
}

function limitOf(text: string): [string, number | string] {
  const [name, count] = pair(text, 'A limit');
  return [name, numberOrText(count)];
}

const budgetOf = (values: Values): Json => ({
  ...(values.budget === undefined ? {} : { usd: numberOrText(values.budget) }),
  ...(values.period === undefined ? {} : { period: values.period }),
  ...(values['allow-unpriced'] ? { allowUnpriced: true } : {}),
});

const MODEL_LIMITS = 'limits.models.';

/** The body that invites or changes a person. */
export function personBody({ email, name, role, teams, disable, enable }: Values): Json {
  if (disable && enable) throw new UsageError('Use either --disable or --enable');
  return {
    ...(email !== undefined && { email }),
    ...(name !== undefined && { name }),
    ...(role !== undefined && { role }),
    ...(teams !== undefined && { teams: list(teams) }),
    ...((disable || enable) && { disabled: disable }),
  };
}

/** How a link to set a password is handed over. */
export const linkBody = ({ 'send-email': sendEmail }: Values): Json => (sendEmail ? { sendEmail } : {});

/** `limits.models.gpt-4.1` has three names, every other one at most two: only the last may have dots. */
function pathOf(member: string): readonly string[] {
  if (member.startsWith(MODEL_LIMITS)) return ['limits', 'models', member.slice(MODEL_LIMITS.length)];
  const [first = '', ...rest] = member.split('.');
  if (first === 'limits' && rest.length > 0) checkLimitName(rest.join('.'), [...LIMIT_NAMES, 'models']);
  return rest.length === 0 ? [first] : [first, rest.join('.')];
}

/** In a patch null removes: `limits.tokensPerMinute` is `{limits: {tokensPerMinute: null}}`. */
function removed(body: Json, [first = '', ...rest]: readonly string[]): Json {
  const before = Object.hasOwn(body, first) ? body[first] : undefined;
  const inner: Json = typeof before === 'object' && before !== null ? { ...before } : {};
  return { ...body, [first]: rest.length === 0 ? null : removed(inner, rest) };
}
