import { openRequestContent, type RequestContent } from '@gateway/model-service/content-log/request-content';
import type { ModelCall, ModelCallServices } from './call-model.ts';

type LoggedCall = Pick<
  ModelCall<never>,
  'endpoint' | 'model' | 'caller' | 'context' | 'identity' | 'names' | 'bytes'
>;

/**
 * Null: no rule of the content log applies to the call.
 *
 * @throws {GatewayError} where its caller wants it not to be logged and may not choose
 */
export function openContent(
  { contentLog }: Pick<ModelCallServices, 'contentLog'>,
  { endpoint, model, caller: { headers }, context, identity, names, bytes }: LoggedCall,
): Promise<RequestContent> | null {
  return openRequestContent(contentLog, {
    ...{ endpoint, model: model.name, headers, context, identity, names, bytes },
  });
}
