import { z } from 'zod';
import {
  type Columns,
  memberTable,
  type Row,
  Rows,
  sentenceOf,
  type Text,
  table,
  warningText,
} from './table.ts';

export const createdText = sentenceOf(
  ({ id, name, key, warnings }) =>
    `Created key ${id} (${name}). It is shown only once; store it somewhere safe:\n\n  ${key}\n${warningText(warnings)}`,
);

export const rotatedText = sentenceOf(({ id, name, key, oldSecretUntil }) => {
  const old =
    oldSecretUntil === null
      ? 'The old secret no longer works.'
      : `The old secret works until ${oldSecretUntil}.`;
  return `New secret for key ${id} (${name}). It is shown only once; store it somewhere safe:\n\n  ${key}\n\n${old}`;
});

export const webhookSecretText = sentenceOf(({ id, name, webhookSecret, oldWebhookSecretUntil }) => {
  const old =
    oldWebhookSecretUntil === null
      ? 'Webhooks are signed with it from now on.'
      : `Until ${oldWebhookSecretUntil}, webhooks are also signed with the old secret.`;
  return `New webhook secret for key ${id} (${name}). It is shown only once; give it to the receiver:\n\n  ${webhookSecret}\n\n${old}`;
});

export const linkText = sentenceOf(({ email, link, linkExpiresAt, delivery }) => {
  const sent = Delivery.parse(delivery ?? null);
  const outcome = sent === null ? '' : `\n\n${sent.message ?? `It was sent to ${email} by e-mail.`}`;
  return `${email} sets a password by this link, once, until ${linkExpiresAt}. It is shown only now${String(link).startsWith('/') ? '; put the address of the console before it' : ''}:\n\n  ${link}${outcome}`;
});

const Delivery = z.looseObject({ message: z.string().nullable() }).nullable();

export const PERSON_COLUMNS: Columns = {
  ID: 'id',
  EMAIL: 'email',
  NAME: 'name',
  ROLE: 'role',
  TEAMS: ({ teams }) => (Array.isArray(teams) ? teams.join(',') : ''),
  STATE: 'state',
  'LAST SIGN-IN': ({ lastSignInAt }) =>
    typeof lastSignInAt === 'string' ? lastSignInAt.slice(0, 10) : 'never',
};

const orAll = (member: string) => (row: Row) => {
  const names = row[member];
  return Array.isArray(names) ? names.join(',') : 'all';
};

export const KEY_COLUMNS: Columns = {
  ID: 'id',
  NAME: 'name',
  TEAM: 'team',
  MODELS: orAll('models'),
  ENDPOINTS: orAll('endpoints'),
  CREATED: (row) => Dated.parse(row).createdAt.slice(0, 10),
  STATE: (row, nowMs) => stateOf(Dated.parse(row), nowMs),
};

const Dated = z.object({
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  revokedAt: z.string().nullable(),
  disabled: z.boolean(),
});

function stateOf({ revokedAt, expiresAt, disabled }: z.infer<typeof Dated>, nowMs: number): string {
  if (revokedAt !== null) return `revoked ${revokedAt.slice(0, 10)}`;
  if (disabled) return 'disabled';
  if (expiresAt === null) return 'active';
  return `${Date.parse(expiresAt) > nowMs ? 'active until' : 'expired'} ${expiresAt.slice(0, 10)}`;
}

const LIMIT_COLUMNS: Columns = {
  LIMIT: 'limit',
  MODELS: ({ model }) => model ?? 'all',
  VALUE: 'value',
  LEFT: 'remaining',
};
const Balance = z.looseObject({ limits: Rows, budget: z.record(z.string(), z.unknown()).nullable() });

export const balanceText: Text = (answer, nowMs) => {
  const { limits, budget } = Balance.parse(answer);
  const limited = limits.length === 0 ? 'No limits.' : table(LIMIT_COLUMNS, limits, nowMs);
  return `${limited}\n\n${budget === null ? 'No budget.' : memberTable(budget)}`;
};
