import { validate } from '@gateway/service-kit/request/validate';
import type { z } from 'zod';
import { reportLeftOut } from '../wire/left-out.ts';
import type { Path } from '../wire/path.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { Conversation, Untranslatable } from './conversation.ts';
import { type Losses, refuseParameter } from './losses.ts';

/** Losses beyond this many are not listed: a body may be made of nothing else. */
const MAX_DROPS = 1000;

/** Why a member that no schema names is lost, where the reason is more specific than that. */
const REASONS: ReadonlyMap<string | number | undefined, string> = new Map([
  ['cache_control', 'prompt caches are steered differently elsewhere'],
  ['prompt_cache_breakpoint', 'prompt caches are steered differently elsewhere'],
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
    reportLeftOut(value, read, at, (path) =>
      this.drop(path, REASONS.get(path.at(-1)) ?? `known to the ${this.#protocol} protocol only`),
    );
    return read;
  }

  drop(path: Path, reason: string): void {
    this.#drops += 1;
    if (this.#drops <= MAX_DROPS) this.list.push({ path, loss: 'D', reason });
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

/** Applies what decoding found, once the protocols are known to differ. @throws GatewayError for class E */
export function reportUntranslatable(conversation: Conversation, target: TextProtocol, losses: Losses): void {
  if (conversation.source === target) return;
  for (const { path, loss, reason } of conversation.untranslatable) {
    if (loss === 'E') refuseParameter(path, reason);
    losses.drop(path, reason);
  }
}
