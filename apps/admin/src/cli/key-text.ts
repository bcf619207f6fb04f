import type { CreatedKey, ShownKey } from './admin-client.ts';

const HEAD = ['ID', 'NAME', 'TEAM', 'MODELS', 'ENDPOINTS', 'CREATED', 'STATE'];

/** Keys as a table for people. `nowMs` decides which have expired. */
export function keyTable(keys: readonly ShownKey[], nowMs: number): string {
  if (keys.length === 0) return 'There are no keys yet. Make one: npm run gateway -- keys create --name NAME';
  const rows = [HEAD, ...keys.map((key) => rowOf(key, nowMs))];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
}

const rowOf = (key: ShownKey, nowMs: number): string[] => [
  key.id,
  key.name,
  key.team ?? '-',
  key.models?.join(',') ?? 'all',
  key.endpoints?.join(',') ?? 'all',
  key.createdAt.slice(0, 10),
  stateOf(key, nowMs),
];

function stateOf({ revokedAt, expiresAt, disabled }: ShownKey, nowMs: number): string {
  if (revokedAt !== null) return `revoked ${revokedAt.slice(0, 10)}`;
  if (disabled) return 'disabled';
  if (expiresAt === null) return 'active';
  return `${Date.parse(expiresAt) > nowMs ? 'active until' : 'expired'} ${expiresAt.slice(0, 10)}`;
}

export const createdText = ({ id, name, key }: CreatedKey): string =>
  `Made key ${id} (${name}). It is shown only now; keep it somewhere safe:\n\n  ${key}\n`;

export const revokedText = ({ id, name }: ShownKey): string => `Revoked key ${id} (${name}).`;
