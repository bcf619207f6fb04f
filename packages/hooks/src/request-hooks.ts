import { GatewayError } from '@gateway/contracts/gateway-error';
import type { HookResult } from '@gateway/contracts/usage/hook-notes';
import type { HookSettings } from '@gateway/upstream/configuration/hooks';
import type { Network } from '@gateway/upstream/connecting/network';
import { type Check, type CheckedRequest, HookFailure, type Side, type Surroundings } from './check.ts';
import type { HookClient } from './hook-client.ts';
import type { HookMetrics } from './hook-metrics.ts';
import { HookNotes } from './hook-notes.ts';

/** What became of texts. Null: they are as they were. */
export type Checked =
  | { readonly isBlocked: false; readonly texts: readonly string[] | null }
  | { readonly isBlocked: true; readonly error: GatewayError };

/** How the answer of a request is held for its checks. */
export interface OutputHold {
  /** Infinite: until the end. */
  readonly windowChars: number;
  readonly overlapChars: number;
  /** More than that is not held, and cannot be checked. */
  readonly maxChars: number;
}

/** How a check's failure is told to the operator. */
export interface HookProblem {
  readonly hook: string;
  readonly side: Side;
  readonly requestId: string;
  /** What becomes of the request. */
  readonly onFailure: HookSettings['onFailure'];
  readonly reason: string;
}

interface RequestHooksOptions {
  /** Those that check the request, in the order of the file. */
  readonly hooks: readonly HookSettings[];
  readonly network: Network;
  readonly client: HookClient;
  readonly metrics: HookMetrics;
  readonly request: CheckedRequest;
  readonly onProblem: (problem: HookProblem) => void;
  readonly onReported: (report: { readonly hook: string; readonly requestId: string }) => void;
  /** Called with what hooks did so far, whenever one did something. */
  readonly onNote: (text: string) => void;
}

/** The hooks that check one request. */
export class RequestHooks {
  readonly #options: RequestHooksOptions;
  readonly #notes = new HookNotes();

  constructor(options: RequestHooksOptions) {
    this.#options = options;
  }

  /** What they did, for the log and the usage record; undefined: nothing yet. */
  get note(): string | undefined {
    return this.#notes.text;
  }

  get checksBefore(): boolean {
    return this.#options.hooks.some(({ input }) => input === 'before');
  }

  get checksBeside(): boolean {
    return this.#options.hooks.some(({ input }) => input === 'beside');
  }

  /** Whether one of them is sent what a request has beside its texts. */
  get wantsSurroundings(): boolean {
    return this.#options.hooks.some(({ input, include }) => input !== 'off' && include.length > 0);
  }

  get reports(): boolean {
    return this.#reporting.length > 0;
  }

  /** Null: no hook holds the answer. */
  get outputHold(): OutputHold | null {
    const holding = this.#holding;
    if (holding.length === 0) return null;
    const isWhole = holding.some(({ output }) => output === 'whole');
    return {
      windowChars: isWhole ? Number.POSITIVE_INFINITY : Math.min(...holding.map((one) => one.windowChars)),
      overlapChars: Math.max(...holding.map((one) => one.overlapChars)),
      maxChars: Math.min(...holding.map((one) => one.maxChars)),
    };
  }

  /** Checks what a caller sends, before a provider gets it. Each hook gets what the one before it has made of it. */
  before(
    texts: readonly string[],
    roles: Check['roles'],
    surroundings: Surroundings | null = null,
  ): Promise<Checked> {
    return this.#inTurn(
      this.#options.hooks.filter(({ input }) => input === 'before'),
      { side: 'input', texts, roles, surroundings },
    );
  }

  /** Checks it while a provider has it already: what would be replaced is blocked. */
  async beside(
    texts: readonly string[],
    roles: Check['roles'],
    surroundings: Surroundings | null = null,
  ): Promise<Checked> {
    const hooks = this.#options.hooks.filter(({ input }) => input === 'beside');
    const check: Check = { side: 'input', texts, roles, surroundings };
    const all = await Promise.all(hooks.map((hook) => this.#inTurn([hook], check)));
    for (const [index, one] of all.entries()) {
      if (one.isBlocked) return one;
      if (one.texts !== null)
        return { isBlocked: true, error: blocked(hooks[index]?.name ?? '', 'input', null) };
    }
    return { isBlocked: false, texts: null };
  }

  /** Checks what a model answers. */
  output(texts: readonly string[]): Promise<Checked> {
    return this.#inTurn(this.#holding, { side: 'output', texts, roles: texts.map(() => 'assistant') });
  }

  /** Has an answer that its caller has looked at, for the log alone. Never rejects. */
  async report(texts: readonly string[]): Promise<void> {
    const check: Check = { side: 'output', texts, roles: texts.map(() => 'assistant') };
    const signal = new AbortController().signal;
    await Promise.all(
      this.#reporting.map(async (hook) => {
        const { request } = this.#options;
        const result = await this.#ask(hook, check, { ...request, signal }).catch(() => undefined);
        if (result === undefined || result instanceof HookFailure || result.kind === 'passed') return;
        this.#options.onReported({ hook: hook.name, requestId: request.requestId });
      }),
    );
  }

  get #holding(): readonly HookSettings[] {
    return this.#options.hooks.filter(({ output }) => output === 'window' || output === 'whole');
  }

  get #reporting(): readonly HookSettings[] {
    return this.#options.hooks.filter(({ output }) => output === 'report');
  }

  async #inTurn(hooks: readonly HookSettings[], check: Check): Promise<Checked> {
    let { texts } = check;
    for (const hook of hooks) {
      if (texts.length === 0 && !isSentMore(hook, check)) continue;
      const verdict = await this.#ask(hook, { ...check, texts });
      if (verdict instanceof HookFailure) {
        if (hook.onFailure === 'pass') continue;
        return { isBlocked: true, error: unavailable(hook.name, verdict) };
      }
      if (verdict.kind === 'blocked')
        return { isBlocked: true, error: blocked(hook.name, check.side, verdict.reason) };
      if (verdict.kind === 'replaced') texts = verdict.texts;
    }
    return { isBlocked: false, texts: texts === check.texts ? null : texts };
  }

  async #ask(hook: HookSettings, check: Check, request = this.#options.request) {
    const { client, network, metrics, onProblem, onNote } = this.#options;
    const startedAt = performance.now();
    const isReport = check.side === 'output' && hook.output === 'report';
    const note = (result: HookResult) => {
      const durationMs = performance.now() - startedAt;
      metrics.checked(hook.name, check.side, result, durationMs);
      if (isReport) return;
      this.#notes.add(hook.name, check.side, result, durationMs);
      onNote(this.#notes.text ?? '');
    };
    try {
      const length = check.texts.reduce((sum, text) => sum + text.length, 0);
      if (length > hook.maxChars)
        throw new HookFailure(`there are ${length} characters to check, and it takes ${hook.maxChars}`, {
          advice: 'Send less.',
        });
      const { images, namedImages } = imagesFor(hook, check);
      if (namedImages > 0)
        throw new HookFailure('it checks images, and cannot be sent one that is named by the id of a file', {
          advice: 'Send images as URLs or as data URLs.',
        });
      const imageLength = images.reduce((sum, image) => sum + image.length, 0);
      if (imageLength > MAX_IMAGE_CHARS)
        throw new HookFailure(
          `there are ${imageLength} characters of images, and hooks get ${MAX_IMAGE_CHARS}`,
          { advice: 'Send less.' },
        );
      const verdict = await client.ask(hook, network, check, request);
      note(isReport && verdict.kind !== 'passed' ? 'reported' : verdict.kind);
      return verdict;
    } catch (error) {
      if (!(error instanceof HookFailure)) throw error;
      note(hook.onFailure === 'pass' || isReport ? 'failed_open' : 'failed');
      onProblem({
        hook: hook.name,
        side: check.side,
        requestId: request.requestId,
        onFailure: isReport ? 'pass' : hook.onFailure,
        reason: error.message,
      });
      return error;
    }
  }
}

const NO_IMAGES = { images: [], namedImages: 0 };

const imagesFor = ({ include }: HookSettings, { surroundings }: Check) =>
  include.includes('images') ? (surroundings ?? NO_IMAGES) : NO_IMAGES;

/** Whether there is more than texts for a hook. */
const isSentMore = (hook: HookSettings, check: Check): boolean =>
  imagesFor(hook, check).namedImages > 0 ||
  hook.include.some((what) => (check.surroundings?.[what].length ?? 0) > 0);

const MAX_REASON_CHARS = 500;
/** Of images that are sent with their data, in base64. */
const MAX_IMAGE_CHARS = 32 * 1024 ** 2;

function blocked(hook: string, side: Side, reason: string | null): GatewayError {
  const what = side === 'input' ? 'The request' : 'The answer';
  const why =
    reason === null ? '' : ` Its reason: ${reason.replaceAll(/\s+/g, ' ').slice(0, MAX_REASON_CHARS)}`;
  return new GatewayError('guardrail_blocked', `${what} was blocked by the check '${hook}'.${why}`);
}

/** What the operator learns of its reason is in the log. */
function unavailable(hook: string, cause: HookFailure): GatewayError {
  if (cause.advice !== null) {
    const message = `The request cannot be checked by '${hook}': ${cause.message}. ${cause.advice}`;
    return new GatewayError('guardrail_blocked', { message, cause });
  }
  const message = `The check '${hook}', which this request needs, is not available. Try again later.`;
  return new GatewayError('guardrail_unavailable', { message, cause });
}
