import { errorMessage } from '@gateway/contracts/error-message';
import { parseJson } from '@gateway/contracts/json/json-depth';
import type { HookSettings } from '@gateway/upstream/configuration/hooks';
import type { Network } from '@gateway/upstream/connecting/network';
import { openAgent } from '@gateway/upstream/connecting/open-pool';
import {
  type CredentialSource,
  createCredentialSource,
  type FinalRequest,
} from '@gateway/upstream/credentials/credential-source';
import { type Dispatcher, request as send } from 'undici';
import { type Check, type CheckedRequest, HookFailure, type Verdict } from './check.ts';
import { HOOK_ADAPTERS } from './kinds/kinds.ts';

const CONNECT_MS = 3000;
const MAX_ANSWER_BYTES = 8 * 1024 ** 2;
/** Of networks that configurations had before: their connections are closed when they are idle. */
const MAX_AGENTS = 4;
/** After so many failures in a row a hook is left alone for this time, and then tried by one check. */
const FAILURES_BEFORE_REST = 5;
const REST_MS = 10_000;

/** Statuses by which a server refuses one check, such as one that is too long for it. The next one may fit. */
const REFUSES_ONE: ReadonlySet<number> = new Set([400, 413, 415, 422]);

interface Circuit {
  failures: number;
  /** On the monotonic clock. */
  restsUntilMs: number;
}

/** Asks hooks. Their servers get no more than the time and the size that they are allowed, and no redirect is followed. */
export class HookClient {
  readonly #agents = new Map<Network, Dispatcher>();
  readonly #circuits = new Map<string, Circuit>();
  readonly #sources = new Map<string, CredentialSource>();

  /** @throws {HookFailure} where there is no verdict; what its caller's signal is aborted with */
  async ask(hook: HookSettings, network: Network, check: Check, request: CheckedRequest): Promise<Verdict> {
    const circuit = this.#circuitOf(hook);
    const nowMs = performance.now();
    if (circuit.restsUntilMs > nowMs) throw new HookFailure('its server has failed repeatedly and rests');
    // One check at a time proves that a server is back.
    if (circuit.failures >= FAILURES_BEFORE_REST) circuit.restsUntilMs = nowMs + REST_MS;
    try {
      const verdict = await this.#exchange(hook, network, check, request);
      circuit.failures = 0;
      circuit.restsUntilMs = 0;
      return verdict;
    } catch (error) {
      if (request.signal.aborted) throw error;
      if (error instanceof HookFailure && !error.isOfServer) {
        circuit.failures = 0;
        circuit.restsUntilMs = 0;
        throw error;
      }
      circuit.failures += 1;
      if (circuit.failures >= FAILURES_BEFORE_REST) circuit.restsUntilMs = performance.now() + REST_MS;
      throw error instanceof HookFailure ? error : new HookFailure(reasonOf(error, hook), { cause: error });
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  async #exchange(
    hook: HookSettings,
    network: Network,
    check: Check,
    request: CheckedRequest,
  ): Promise<Verdict> {
    const adapter = HOOK_ADAPTERS[hook.kind];
    const body = JSON.stringify(adapter.request(check, request, hook));
    const signal = AbortSignal.any([AbortSignal.timeout(hook.timeoutMs), request.signal]);
    const { origin, path } = hook;
    const headers = [
      ...['content-type', 'application/json', 'accept', 'application/json', 'user-agent', 'model-gateway'],
      ...hook.secrets.headers.flat(),
    ];
    const final = { method: 'POST', origin, path, headers, body } as const;
    const authorization = await untilAborted(this.#authorize(hook, network, final), signal);
    const { statusCode, body: answer } = await send(origin + path, {
      dispatcher: this.#agentFor(network),
      method: 'POST',
      headers: [...headers, ...authorization],
      body,
      signal,
    });
    const text = await answer.text();
    if (statusCode < 200 || statusCode > 299)
      throw new HookFailure(`it answers with status ${statusCode}`, {
        isOfServer: !REFUSES_ONE.has(statusCode),
      });
    return adapter.verdict(jsonOf(text), check);
  }

  async #authorize(hook: HookSettings, network: Network, request: FinalRequest): Promise<readonly string[]> {
    const { auth } = hook.secrets;
    if (auth === null) return [];
    const key = JSON.stringify(auth);
    const source =
      this.#sources.get(key) ?? createCredentialSource(auth, { network, onFetched: () => undefined });
    this.#sources.set(key, source);
    return (await source.authorize(request)).headers;
  }

  #circuitOf({ name, origin, path }: HookSettings): Circuit {
    const key = `${name} ${origin}${path}`;
    const circuit = this.#circuits.get(key) ?? { failures: 0, restsUntilMs: 0 };
    this.#circuits.set(key, circuit);
    return circuit;
  }

  #agentFor(network: Network): Dispatcher {
    const known = this.#agents.get(network);
    if (known !== undefined) return known;
    for (const [old, agent] of this.#agents) {
      if (this.#agents.size < MAX_AGENTS) break;
      this.#agents.delete(old);
      void agent.close();
    }
    const agent = openAgent({ network, connectMs: CONNECT_MS, maxReplyBytes: MAX_ANSWER_BYTES });
    this.#agents.set(network, agent);
    return agent;
  }
}

/** What others wait for too goes on without the one who waits no longer. */
async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new HookFailure('it answers something that is not JSON');
  }
}

/** Without what was sent, and without its keys. */
function reasonOf(error: unknown, { timeoutMs, secrets }: HookSettings): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `it did not answer within ${timeoutMs} ms`;
  return secrets.values.reduce(
    (text, secret) => text.replaceAll(secret, '[secret]'),
    `it cannot be reached: ${errorMessage(error)}`,
  );
}
