import { reportedCount } from '@gateway/contracts/usage/reported-count';
import type { JsonObject } from './json-object.ts';
import { isJsonObject } from './raw-json.ts';

/** Two reports of usage in one stream as one: counters are cumulative, so a later one that is smaller says nothing. */
export function mergedCounters(earlier: JsonObject, later: JsonObject): JsonObject {
  const merged = { ...earlier };
  for (const [name, value] of Object.entries(later)) {
    const known = earlier[name];
    if (isJsonObject(known) && isJsonObject(value)) merged[name] = mergedCounters(known, value);
    else if (value !== null && !(reportedCount(known) > reportedCount(value))) merged[name] = value;
  }
  return merged;
}
