import { list, numberOrText, pair, type Values } from './options.ts';
import { UsageError } from './usage-error.ts';

type Json = Record<string, unknown>;

/** The body by which a key or a team is made or changed: only what the options name. The service checks it. */
export function settingsBody(values: Values): Json {
  if (values.disable && values.enable) throw new UsageError('Either --disable or --enable');
  const body: Json = {};
  for (const name of ['name', 'team', 'owner'] as const)
    if (values[name] !== undefined) body[name] = values[name];
  for (const name of ['models', 'endpoints'] as const)
    if (values[name] !== undefined) body[name] = list(values[name]);
  if (values['expires-at'] !== undefined) body.expiresAt = values['expires-at'];
  if (values.disable || values.enable) body.disabled = values.disable;
  if (values.label !== undefined)
    body.labels = Object.fromEntries(values.label.map((text) => pair(text, 'A label')));
  if (values.limit !== undefined) body.limits = Object.fromEntries(values.limit.map(limitOf));
  const budget = budgetOf(values);
  if (Object.keys(budget).length > 0) body.budget = budget;
  for (const member of values.remove ?? []) remove(body, member.split('.'));
  return body;
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

/** In a patch null removes: `limits.tokensPerMinute` is `{limits: {tokensPerMinute: null}}`. */
function remove(body: Json, [first = '', second]: readonly string[]): void {
  if (second === undefined) {
    body[first] = null;
    return;
  }
  const inner = body[first];
  body[first] = { ...(typeof inner === 'object' ? inner : {}), [second]: null };
}
