import type { Identity } from '@gateway/contracts/identity';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { ProcessSettings } from '@gateway/service-kit/config';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import type { Started } from '@gateway/service-kit/start-service';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import type { HookRule, HookSettings } from '@gateway/upstream/configuration/hooks';
import type { CheckedRequest } from './check.ts';
import type { HookProblem, RequestHooks } from './request-hooks.ts';

/** Chooses and asks the hooks of a process. */
export interface Hooks {
  /** The hooks that check a request; null: none does. What asks them is loaded with the first one that any does. */
  begin(
    configuration: Pick<Configuration, 'hooks' | 'network'>,
    request: HookedRequest,
  ): Promise<RequestHooks> | null;
  close(): Promise<void>;
}

export interface HookedRequest extends Omit<CheckedRequest, 'keyId' | 'keyName' | 'team'> {
  readonly identity: Pick<Identity, 'keyId' | 'keyName' | 'team'>;
  readonly onNote: (text: string) => void;
}

interface HooksOptions {
  readonly metrics: MetricsRegistry;
  readonly onProblem: (problem: HookProblem) => void;
  readonly onReported: (report: { readonly hook: string; readonly requestId: string }) => void;
}

export function openHooks({ metrics, onProblem, onReported }: HooksOptions): Hooks {
  const load = async () => {
    const [{ RequestHooks }, { HookClient }, { createHookMetrics }] = await Promise.all([
      import('./request-hooks.ts'),
      import('./hook-client.ts'),
      import('./hook-metrics.ts'),
    ]);
    return { RequestHooks, client: new HookClient(), metrics: createHookMetrics(metrics) };
  };
  let loading: ReturnType<typeof load> | null = null;
  return {
    begin: ({ hooks, network }, { identity, onNote, ...request }) => {
      if (hooks.length === 0) return null;
      const chosen = hooksFor(hooks, identity, request.model);
      if (chosen.length === 0) return null;
      loading ??= load();
      const { keyId, keyName, team } = identity;
      const checked = { ...request, keyId, keyName, team };
      return loading.then(
        ({ RequestHooks, ...parts }) =>
          new RequestHooks({
            ...parts,
            hooks: chosen,
            network,
            request: checked,
            onProblem,
            onReported,
            onNote,
          }),
      );
    },
    close: async () => (await loading)?.client.close(),
  };
}

/** Those that check a request. One for no model yet is checked by the hooks of every model. */
export const hooksFor = (
  hooks: readonly HookSettings[],
  identity: HookedRequest['identity'],
  model: string | null,
): readonly HookSettings[] =>
  hooks.filter(({ rules }) => rules === null || rules.some((rule) => applies(rule, identity, model)));

/** Whether nothing of a request may pass that its hooks have not checked: then it cannot be one that they do not check. */
export const mustBeChecked = (
  hooks: readonly HookSettings[],
  identity: HookedRequest['identity'],
  model: string,
): boolean =>
  hooksFor(hooks, identity, model).some(
    ({ onFailure, input, output }) =>
      onFailure === 'block' && (input !== 'off' || output === 'window' || output === 'whole'),
  );

const applies = (
  { keys, teams, models }: HookRule,
  { keyId, team }: HookedRequest['identity'],
  model: string | null,
): boolean =>
  (keys === null || keys.includes(keyId)) &&
  (teams === null || (team !== null && teams.includes(team))) &&
  (models === null || model === null || models.some((pattern) => fitsPattern(pattern, model)));

/** The hooks of a service; the process's life closes them. */
export function openServiceHooks({
  life,
  logger,
  metrics,
}: Pick<Started<ProcessSettings>, 'life' | 'logger' | 'metrics'>): Hooks {
  return life.own(
    openHooks({
      metrics,
      onProblem: (problem) => logger.warn(problem, 'a check by a hook failed'),
      onReported: (report) => logger.warn(report, 'a hook reports an answer that was not held'),
    }),
    (opened) => opened.close(),
  );
}
