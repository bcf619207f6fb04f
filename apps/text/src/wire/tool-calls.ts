import { builtInToolOf } from '@gateway/contracts/tools/built-in-tools';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import type { ToolCalls } from '@gateway/contracts/usage/usage-record';
import { isObject, type JsonObject, objectAt, textAt } from './json-object.ts';
import type { Usage } from './usage.ts';

/** Objects within a report of usage whose members count calls, and what follows the tool's family in a member's name. */
const COUNTED: readonly (readonly [member: string, suffix: string])[] = [
  // Anthropic's, and OpenRouter's in both of OpenAI's protocols.
  ['server_tool_use', '_requests'],
  // xAI's.
  ['server_side_tool_usage_details', '_calls'],
];
/** Perplexity's. */
const SEARCHES = 'num_search_queries';

const FAMILY = /^[a-z][a-z0-9_]{0,63}$/;
/** What a search does with a page that was found: a caller sees it as a search, and it costs nothing. */
export const OPENED_PAGE = 'opened_page';
/** No provider runs more tools than that. */
const MAX_FAMILIES = 32;

/** The calls that a report of usage counts, those that it counts as none among them. */
export function reportedCalls(report: JsonObject): ToolCalls {
  const calls = new Map<string, number>();
  if (typeof report[SEARCHES] === 'number') calls.set('web_search', reportedCount(report[SEARCHES]));
  for (const [member, suffix] of COUNTED) {
    const counts = report[member];
    if (!isObject(counts)) continue;
    for (const [name, count] of Object.entries(counts)) {
      const family = name.endsWith(suffix) ? name.slice(0, -suffix.length) : '';
      if (typeof count === 'number' && FAMILY.test(family) && calls.size < MAX_FAMILIES)
        calls.set(family, reportedCount(count));
    }
  }
  return Object.fromEntries(calls);
}

export const NO_CALLS: ToolCalls = {};

/** Of two counts of the same calls the larger one, for each tool. */
export function mostCalls(one: ToolCalls, other: ToolCalls): ToolCalls {
  if (other === NO_CALLS || one === NO_CALLS) return one === NO_CALLS ? other : one;
  const tools = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return Object.fromEntries(tools.map((tool) => [tool, Math.max(one[tool] ?? 0, other[tool] ?? 0)]));
}

/** Calls as members of a usage. */
export function usedCalls({
  web_search: webSearches = 0,
  ...others
}: ToolCalls): Pick<Usage, 'webSearches' | 'otherCalls'> {
  const made = Object.entries(others).filter(([, count]) => count > 0);
  return { webSearches, ...(made.length > 0 && { otherCalls: Object.fromEntries(made) }) };
}

/** All calls of a usage, by the tool's family; null where there are none. */
export function callsOf({
  webSearches,
  otherCalls,
}: Pick<Usage, 'webSearches' | 'otherCalls'>): ToolCalls | null {
  if (webSearches === 0 && otherCalls === undefined) return null;
  return { ...(webSearches > 0 && { web_search: webSearches }), ...otherCalls };
}

const CALL = '_call';
/** A call of the caller's own tool. */
const CUSTOM = 'custom_tool';

/** Counts the calls of built-in tools among the items of a response. */
export class ToolCallCounter {
  readonly #counts = new Map<string, number>();
  readonly #containers = new Set<string>();

  add(item: unknown): void {
    if (!isObject(item)) return;
    const type = textAt(item, 'type') ?? '';
    if (!type.endsWith(CALL) || item.status === 'failed') return;
    const name = type.slice(0, -CALL.length);
    const family = name === CUSTOM ? null : builtInToolOf('responses', name);
    if (family === null || !FAMILY.test(family)) return;
    const counted = this.#countedAs(family, item);
    if (counted !== null && (this.#counts.size < MAX_FAMILIES || this.#counts.has(counted)))
      this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }

  get counts(): ToolCalls {
    return Object.fromEntries(this.#counts);
  }

  /** Opening a page that was found costs nothing; code is charged by the container that runs it. */
  #countedAs(family: string, item: JsonObject): string | null {
    if (family === 'web_search')
      return (textAt(objectAt(item, 'action') ?? {}, 'type') ?? 'search') === 'search' ? family : OPENED_PAGE;
    const container = family === 'code_interpreter' ? textAt(item, 'container_id') : null;
    if (container === null) return family;
    const isNew = !this.#containers.has(container);
    this.#containers.add(container);
    return isNew ? family : null;
  }
}

/** The provider's tools of Messages whose calls a message's usage counts. */
const COUNTED_TOOLS: ReadonlySet<string> = new Set(['web_search', 'web_fetch']);

/** Counts the calls of the provider's tools among the blocks of a message. */
export class ToolBlockCounter {
  /** The tool of each call, by the call's id. */
  readonly #calls = new Map<string, string>();

  add(block: unknown): void {
    if (!isObject(block)) return;
    const { type, id, name } = block;
    if (type === 'server_tool_use' && typeof name === 'string' && COUNTED_TOOLS.has(name))
      this.#calls.set(typeof id === 'string' ? id : `${this.#calls.size}`, name);
    const result = objectAt(block, 'content');
    // A call that failed costs nothing.
    if (result !== null && textAt(result, 'type')?.endsWith('_error'))
      this.#calls.delete(textAt(block, 'tool_use_id') ?? '');
  }

  get counts(): ToolCalls {
    if (this.#calls.size === 0) return NO_CALLS;
    const counts: Record<string, number> = {};
    for (const name of this.#calls.values()) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  }
}

/** The calls of the provider's tools that the content of a message shows. */
export function toolBlocksIn(content: unknown): ToolCalls {
  const counter = new ToolBlockCounter();
  for (const block of Array.isArray(content) ? content : []) counter.add(block);
  return counter.counts;
}
