import type { ContentStores } from './content-store.ts';

const HOUR_MS = 3_600_000;
const NAMED_HOUR = /^(\d{4}-\d{2}-\d{2})_(\d{2})_/;

/**
 * Deletes the objects of the content log whose lines are older than that, by the hour that their names say: one that was written anew
 * without some of its lines is kept no longer for that.
 *
 * @param beforeMs Unix milliseconds
 * @returns how many those were
 */
export async function sweepContent({ lines, erasures }: ContentStores, beforeMs: number): Promise<number> {
  const old: string[] = [];
  for await (const { id } of lines.list()) {
    const hour = hourOf(id);
    // Its last line may be of the end of the next minute.
    if (hour !== null && hour + HOUR_MS < beforeMs) old.push(id);
  }
  await lines.delete(...old);
  // With what writers that died have left.
  const swept = await lines.sweep(beforeMs);
  // No line that is older is left to be kept out.
  await erasures.sweep(beforeMs - HOUR_MS);
  return old.length + swept;
}

function hourOf(id: string): number | null {
  const [, day, hour] = NAMED_HOUR.exec(id) ?? [];
  return day === undefined ? null : Date.parse(`${day}T${hour}:00:00.000Z`);
}
