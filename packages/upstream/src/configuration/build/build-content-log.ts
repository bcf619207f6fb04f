import { REDACTIONS } from '@gateway/contracts/content-log';
import type { ContentLogSettings } from '../content-log.ts';
import type { ContentLogEntry } from '../content-log-entry.ts';

const DAY_MS = 86_400_000;
const DEFAULT_RETENTION_DAYS = 30;
const DEFAULT_MAX_BYTES = 1024 ** 2;

export function buildContentLog(entry: ContentLogEntry): ContentLogSettings {
  const { patterns = {} } = entry;
  const all = [...REDACTIONS, ...Object.keys(patterns)];
  return {
    retentionMs: Math.round((entry.retentionDays ?? DEFAULT_RETENTION_DAYS) * DAY_MS),
    maxBytes: entry.maxBytes ?? DEFAULT_MAX_BYTES,
    patterns,
    readers: entry.readers ?? [],
    rules: entry.rules.map(({ keys, teams, models, share, redact, mayOptOut }) => ({
      keys: keys ?? null,
      teams: teams ?? null,
      models: models ?? null,
      share: share ?? 1,
      redact: redact ?? all,
      mayOptOut: mayOptOut ?? false,
    })),
  };
}
