import { validate } from '@gateway/service-kit/request/validate';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
import type { z } from 'zod';
import type { Path } from '../wire/path.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { Conversation, Untranslatable } from './conversation.ts';
import { type Losses, refuseParameter } from './losses.ts';
import { pathsOf } from './scalar-paths.ts';

/** More losses are not listed: a body may contain nothing else. */
const MAX_DROPS = 1000;

/** Members by which callers mark what a prompt cache is to keep. */
const CACHE_MARKS: ReadonlySet<string | number | undefined> = new Set([
  'cache_control',
  'prompt_cache_breakpoint',
]);

/**
 * Members by which servers guard their answers, at the top of a request: an answer without the guard is not what the
 * caller requested.
 */
const GUARDS: ReadonlySet<unknown> = new Set([
  'content_filter',
  'guardrail_config',
  'guardrailConfig',
  'guardrails',
  'moderation',
  'safe_prompt',
  'safety_settings',
  'safetySettings',
]);

/** Reads the parts of a request, and collects what only the caller's own protocol has. */
export class RequestReader {
  readonly list: Untranslatable[] = [];
  readonly #protocol: TextProtocol;
  #drops = 0;

  constructor(protocol: TextProtocol) {
    this.#protocol = protocol;
  }

  /**
   * Reads part of the request. Members that the schema does not name are dropped and reported, at any depth.
   * @throws GatewayError with the exact path
   */
  read<Schema extends z.ZodType>(schema: Schema, value: unknown, at: Path = []): z.output<Schema> {
    const read = validate(schema, value, at);
    reportLeftOut(value, read, at, (path, left) => {
      if (path.length === 1 && GUARDS.has(path[0]) && left !== false)
        this.refuse(
          path,
          `'${path[0]}' is not available for this model. Leave it out to be answered without it.`,
        );
      else if (CACHE_MARKS.has(path.at(-1))) this.#markCache(path, left);
      else this.drop(path, `known to the ${this.#protocol} protocol only`);
    });
    return read;
  }

  drop(path: Path, reason: string): void {
    this.#drop({ path, loss: 'D', reason });
  }

  #markCache(path: Path, mark: unknown): void {
    const cacheMark = hasMembers(mark) && mark.ttl === '1h' ? '1h' : '5m';
    this.#drop({ path, loss: 'D', reason: 'prompt caches are steered differently elsewhere', cacheMark });
  }

  #drop(member: Untranslatable): void {
    this.#drops += 1;
    if (this.#drops <= MAX_DROPS) this.list.push(member);
  }

  /** Reports an older member whose value differs from that of its newer name, which counts. */
  dropOther(older: unknown, newer: unknown, path: Path): void {
    const areGiven = older !== undefined && older !== null && newer !== undefined && newer !== null;
    if (areGiven && older !== newer) this.drop(path, 'the newer member counts');
  }

  refuse(path: Path, reason: string): void {
    this.list.push({ path, loss: 'E', reason });
  }
}

/** The protocols in which a request has a seed. */
const SEEDED: ReadonlySet<ConversationProtocol> = new Set(['chat', 'gemini']);

/** Reports the losses that decoding found, if the protocols differ. @throws GatewayError for class E */
export function reportUntranslatable(
  conversation: Conversation,
  target: ConversationProtocol,
  losses: Losses,
): void {
  if (conversation.source === target) return;
  for (const { path, loss, reason } of conversation.untranslatable) {
    if (loss === 'E') refuseParameter(path, reason);
    losses.drop(path, reason);
  }
  if (conversation.sampling.seed !== undefined && !SEEDED.has(target))
    losses.drop(pathsOf(conversation).seed, `not known to the ${target} protocol`);
}

type Step = string | number;
type Members = { readonly [name: Step]: unknown };
type Report = (path: Path, left: unknown) => void;

/**
 * Reports the members that a schema left out, at any depth: `given` has them, `read`, which zod made of it, does not. A
 * `null` is absent, and an empty list is too. A value that zod passed on unchanged (a JSON schema, a tool's input) is the
 * same in both and is skipped. Both are parsed JSON.
 */
function reportLeftOut(given: unknown, read: unknown, at: Path, report: Report): void {
  compare(given, read, [...at], report);
}

const hasMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null;

const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

/** `path` is one list for the whole walk: a path is copied only where something is reported. */
function compare(given: unknown, read: unknown, path: Step[], report: Report): void {
  if (!hasMembers(given) || !hasMembers(read)) return;
  if (Array.isArray(given)) {
    for (let index = 0; index < given.length; index += 1) {
      if (given[index] === read[index]) continue;
      path.push(index);
      compare(given[index], read[index], path, report);
      path.pop();
    }
    return;
  }
  for (const name in given) {
    const value = given[name];
    if (value === read[name] || isEmpty(value)) continue;
    path.push(name);
    if (Object.hasOwn(read, name)) compare(value, read[name], path, report);
    else report([...path], value);
    path.pop();
  }
}
