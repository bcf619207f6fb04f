import { ShownWebhook } from '@gateway/contracts/webhooks';
import { z } from 'zod';
import { cellText, memberTable, table } from './table.ts';

/** A key as the admin API shows it. Members that are not printed are not listed. */
const ShownKey = z.looseObject({
  id: z.string(),
  name: z.string(),
  team: z.string().nullable(),
  models: z.array(z.string()).nullable(),
  endpoints: z.array(z.string()).nullable(),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  revokedAt: z.string().nullable(),
  disabled: z.boolean(),
});
type ShownKey = z.infer<typeof ShownKey>;
const WithSecret = ShownKey.extend({ key: z.string(), warnings: z.array(z.string()).default([]) });
const Members = z.record(z.string(), z.unknown());
const Rows = z.array(Members);
const Warned = z.looseObject({ warnings: z.array(z.string()).default([]) });

const warningText = (warnings: readonly string[]): string =>
  warnings.map((warning) => `\nWarning: ${warning}`).join('');

export function createdText(answer: unknown): string {
  const { id, name, key, warnings } = WithSecret.parse(answer);
  return `Made key ${id} (${name}). It is shown only now; keep it somewhere safe:\n\n  ${key}\n${warningText(warnings)}`;
}

export function rotatedText(answer: unknown): string {
  const { id, name, key, oldSecretUntil } = WithSecret.parse(answer);
  const old =
    oldSecretUntil === null ? 'The old one no longer works.' : `The old one works until ${oldSecretUntil}.`;
  return `Key ${id} (${name}) has another secret. It is shown only now; keep it somewhere safe:\n\n  ${key}\n\n${old}`;
}

const WithWebhookSecret = ShownKey.extend({
  webhookSecret: z.string(),
  oldWebhookSecretUntil: z.string().nullable(),
});

export function webhookSecretText(answer: unknown): string {
  const { id, name, webhookSecret, oldWebhookSecretUntil } = WithWebhookSecret.parse(answer);
  const old =
    oldWebhookSecretUntil === null
      ? 'Webhooks are signed with it from now on.'
      : `Until ${oldWebhookSecretUntil} webhooks are signed with the old one as well.`;
  return `Key ${id} (${name}) has a webhook secret. It is shown only now; give it to the receiver:\n\n  ${webhookSecret}\n\n${old}`;
}

export function revokedText(answer: unknown): string {
  const { id, name } = ShownKey.parse(answer);
  return `Revoked key ${id} (${name}).`;
}

export function keyText(answer: unknown): string {
  const { warnings } = Warned.parse(answer);
  const { warnings: _, ...members } = Members.parse(answer);
  return memberTable(members) + warningText(warnings);
}

/** `nowMs` decides which have expired. */
export function keysText(answer: unknown, nowMs: number): string {
  const keys = z.array(ShownKey).parse(answer);
  if (keys.length === 0) return 'There are no keys yet. Make one: npm run gateway -- keys create --name NAME';
  return table(
    ['ID', 'NAME', 'TEAM', 'MODELS', 'ENDPOINTS', 'CREATED', 'STATE'],
    keys.map((key) => [
      key.id,
      key.name,
      key.team ?? '-',
      key.models?.join(',') ?? 'all',
      key.endpoints?.join(',') ?? 'all',
      key.createdAt.slice(0, 10),
      stateOf(key, nowMs),
    ]),
  );
}

function stateOf({ revokedAt, expiresAt, disabled }: ShownKey, nowMs: number): string {
  if (revokedAt !== null) return `revoked ${revokedAt.slice(0, 10)}`;
  if (disabled) return 'disabled';
  if (expiresAt === null) return 'active';
  return `${Date.parse(expiresAt) > nowMs ? 'active until' : 'expired'} ${expiresAt.slice(0, 10)}`;
}

export const teamText = (answer: unknown): string => memberTable(Members.parse(answer));

export function teamsText(answer: unknown): string {
  const teams = Rows.parse(answer);
  if (teams.length === 0) return 'There are no teams yet. Make one: npm run gateway -- teams create NAME';
  const cells = teams.map(({ name, limits, budget }) => [name, limits, budget].map(cellText));
  return table(['NAME', 'LIMITS', 'BUDGET'], cells);
}

const Balance = z.looseObject({
  limits: z.array(
    z.object({ limit: z.string(), model: z.string().nullable(), value: z.number(), remaining: z.number() }),
  ),
  budget: Members.nullable(),
});

export function balanceText(answer: unknown): string {
  const { limits, budget } = Balance.parse(answer);
  const rows = limits.map(({ limit, model, value, remaining }) => [
    limit,
    model ?? 'all',
    String(value),
    String(remaining),
  ]);
  const limited = rows.length === 0 ? 'No limits.' : table(['LIMIT', 'MODELS', 'VALUE', 'LEFT'], rows);
  return `${limited}\n\n${budget === null ? 'No budget.' : memberTable(budget)}`;
}

const MICRO_PER_USD = 1e6;
const DOLLAR_DIGITS = 6;

/** The other sums that are not 0 in every row. */
const ALWAYS_SHOWN: readonly string[] = ['requests', 'failed', 'refused'];

const Cost = z.looseObject({ costMicroUsd: z.number() });

export function usageText(answer: unknown): string {
  const rows = z.array(Cost).parse(answer);
  if (rows.length === 0) return 'Nothing was used in that time.';
  const shown = rows.map(({ costMicroUsd, ...row }) => ({
    ...row,
    usd: (costMicroUsd / MICRO_PER_USD).toFixed(DOLLAR_DIGITS),
  }));
  const names = Object.keys(shown[0] ?? {}).filter(
    (name) => ALWAYS_SHOWN.includes(name) || shown.some((row) => Reflect.get(row, name) !== 0),
  );
  const cell = (value: unknown) => cellText(value === '' ? null : value);
  return table(
    names,
    shown.map((row) => names.map((name) => cell(Reflect.get(row, name)))),
  );
}

export function webhooksText(answer: unknown): string {
  const webhooks = z.array(ShownWebhook).parse(answer);
  if (webhooks.length === 0) return 'There are no such webhooks.';
  return table(
    ['ID', 'KEY', 'CREATED', 'STATUS', 'ATTEMPTS', 'NEXT', 'LAST ERROR'],
    webhooks.map(({ id, keyId, createdAt, status, attempts, nextAttemptAt }) =>
      [id, keyId, createdAt, status, attempts.length, nextAttemptAt, attempts.at(-1)?.error].map(cellText),
    ),
  );
}

export function webhookText(answer: unknown): string {
  const { attempts, ...webhook } = ShownWebhook.parse(answer);
  const rows = attempts.map(({ at, status, durationMs, error }) =>
    [at, status, `${durationMs} ms`, error].map(cellText),
  );
  const made = rows.length === 0 ? 'No attempts yet.' : table(['AT', 'STATUS', 'TIME', 'ERROR'], rows);
  return `${memberTable(webhook)}\n\n${made}`;
}

export const replayedText = (answer: unknown): string =>
  `Webhook ${ShownWebhook.parse(answer).id} is sent again. See how it goes: npm run gateway -- webhooks show ${ShownWebhook.parse(answer).id}`;

export function jobsText(answer: unknown): string {
  const rows = Rows.parse(answer);
  if (rows.length === 0) return 'There are no such jobs.';
  const cells = rows.map(({ id, kind, status, model, keyId, createdAt, attempts, errorCode, canRequeue }) =>
    [id, kind, status, model, keyId, createdAt, attempts, errorCode, canRequeue === true ? 'yes' : 'no'].map(
      cellText,
    ),
  );
  return table(['ID', 'KIND', 'STATUS', 'MODEL', 'KEY', 'CREATED', 'ATTEMPTS', 'ERROR', 'REQUEUE'], cells);
}

export function requeuedText(answer: unknown): string {
  const { id, kind, model } = Members.parse(answer);
  return `Queued job ${cellText(id)} again (${cellText(kind)}, ${cellText(model)}).`;
}

export function queuesText(answer: unknown): string {
  const cells = Rows.parse(answer).map(
    ({ queue, queued, inProgress, delayed, failed, completed, oldestQueuedAt }) =>
      [queue, queued, inProgress, delayed, failed, completed, oldestQueuedAt].map(cellText),
  );
  return table(['QUEUE', 'QUEUED', 'IN PROGRESS', 'DELAYED', 'FAILED', 'COMPLETED', 'OLDEST SINCE'], cells);
}

export function auditText(answer: unknown): string {
  const rows = Rows.parse(answer);
  if (rows.length === 0) return 'Nothing was changed yet.';
  const cells = rows.map(({ at, who, action, subject, before, after }) => [
    cellText(at),
    cellText(who),
    cellText(action),
    cellText(subject),
    changedMembers(before, after),
  ]);
  return table(['WHEN', 'WHO', 'WHAT', 'WHICH', 'CHANGED'], cells);
}

function changedMembers(before: unknown, after: unknown): string {
  const [from, to] = [Members.safeParse(before).data, Members.safeParse(after).data];
  if (from === undefined || to === undefined) return '';
  return Object.keys(to)
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => `${name}: ${cellText(from[name])} -> ${cellText(to[name])}`)
    .join('; ');
}
