import type { EndpointScope } from '@gateway/contracts/identity';
import type { ProcessSettings } from '@gateway/service-kit/config';
import type { Started } from '@gateway/service-kit/start-service';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { type HookedRequest, type Hooks, openServiceHooks } from './open-hooks.ts';
import type { Checked, RequestHooks } from './request-hooks.ts';

/** A request whose texts are few and whole: of images, speech and transcripts. */
export interface TextRequest extends Pick<HookedRequest, 'requestId' | 'model' | 'signal'> {
  readonly keyId: string;
  readonly keyName?: string;
  readonly team: string | null;
  readonly endUser?: string | null | undefined;
  /** Called with what hooks did so far, whenever one did something. */
  readonly onNote?: (text: string) => void;
}

interface CheckedJob extends Pick<TextRequest, 'requestId' | 'keyId' | 'team' | 'signal'> {
  readonly subject?: { readonly endUser?: string | undefined } | undefined;
  noted(detail: { readonly hooks: string }): void;
}

/** The request of a job, whose usage record says what hooks did. */
export const requestOfJob = (model: string, job: CheckedJob): TextRequest => ({
  requestId: job.requestId,
  keyId: job.keyId,
  team: job.team,
  signal: job.signal,
  model,
  endUser: job.subject?.endUser,
  onNote: (hooks) => job.noted({ hooks }),
});

/** The hooks of one such request; both check at once, since nothing of it is held. */
export interface RequestChecks {
  /** What may be sent to a provider, text by text. @throws {GatewayError} `guardrail_blocked`, `guardrail_unavailable` */
  input(texts: readonly string[]): Promise<readonly string[]>;
  /** What its caller may get. @throws {GatewayError} as `input` */
  output(texts: readonly string[]): Promise<readonly string[]>;
  /** Whether its answer has to be whole before its caller gets any of it. */
  readonly holdsOutput: boolean;
  /** What they did, for the log and the usage record; undefined: nothing. */
  readonly note: string | undefined;
}

export interface TextChecks {
  /** Null: no hook checks it. */
  of(request: TextRequest): Promise<RequestChecks> | null;
}

interface TextChecksOptions {
  readonly hooks: Hooks;
  readonly configuration: () => Pick<Configuration, 'hooks' | 'network'>;
  /** Called for a request that a hook has blocked before a provider got it. */
  readonly onRefused: (request: TextRequest) => void;
}

export function createTextChecks({ hooks, configuration, onRefused }: TextChecksOptions): TextChecks {
  return {
    of: (request) => {
      const current = configuration();
      const { keyId, keyName = '', team, requestId, model, signal } = request;
      const { endUser = null, onNote = () => undefined } = request;
      const identity = { keyId, keyName, team };
      const begun = hooks.begin(current, { requestId, model, signal, identity, endUser, onNote });
      return begun === null ? null : begun.then((own) => requestChecks(own, () => onRefused(request)));
    },
  };
}

function requestChecks(hooks: RequestHooks, onRefused: () => void): RequestChecks {
  const passed = (checked: Checked, texts: readonly string[], isInput: boolean): readonly string[] => {
    if (!checked.isBlocked) return checked.texts ?? texts;
    if (isInput && checked.error.code === 'guardrail_blocked') onRefused();
    throw checked.error;
  };
  const rolesOf = (texts: readonly string[]) => texts.map(() => 'user' as const);
  return {
    input: async (texts) => {
      const before = passed(await hooks.before(texts, rolesOf(texts)), texts, true);
      return passed(await hooks.beside(before, rolesOf(before)), before, true);
    },
    output: async (texts) => {
      if (hooks.reports) void hooks.report(texts);
      return passed(await hooks.output(texts), texts, false);
    },
    holdsOutput: hooks.outputHold !== null,
    get note() {
      return hooks.note;
    },
  };
}

interface TextAccess {
  readonly upstream: { readonly configuration: Pick<Configuration, 'hooks' | 'network'> };
  readonly refusals: {
    add(
      reason: 'guardrail',
      identity: Pick<TextRequest, 'keyId' | 'team'>,
      endpoint: { readonly scope: EndpointScope },
    ): void;
  };
}

/** The hooks of a service or a worker; the process's life closes them. */
export const openTextChecks = (
  started: Pick<Started<ProcessSettings>, 'life' | 'logger' | 'metrics'>,
  { upstream, refusals }: TextAccess,
  scope: EndpointScope,
): TextChecks =>
  createTextChecks({
    hooks: openServiceHooks(started),
    configuration: () => upstream.configuration,
    onRefused: (request) => refusals.add('guardrail', request, { scope }),
  });
