import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';

/** For texts that have little in common. */
const TIMEOUT_MS = 2_000;

/** A unified diff, as `git apply` takes it; empty where nothing differs, null where the two differ by too much. */
export function lineDiff(file: string, before: string, after: string): string | null {
  if (before === after) return '';
  const diff = createTwoFilesPatch(`a/${file}`, `b/${file}`, before, after, undefined, undefined, {
    ...{ context: 3, timeout: TIMEOUT_MS, headerOptions: FILE_HEADERS_ONLY },
  });
  return diff ?? null;
}
