import { encodeEffort } from '../../../neutral/encoding/effort.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { encodeThinking } from '../../../neutral/encoding/thinking.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';

/** What a request wants beyond Converse's own members, in those of the model's maker. */
export interface ModelFields {
  /** `additionalModelRequestFields`. */
  readonly fields: { readonly [member: string]: unknown };
  /** The model thinks, and takes no sampling then. */
  readonly fixesSampling: boolean;
  /** The model thinks so hard that it takes no bound on the output. */
  readonly refusesBound: boolean;
}

const NOTHING: ModelFields = { fields: {}, fixesSampling: false, refusesBound: false };

interface Circumstances {
  readonly maxTokens: number;
  /** The tool choice demands a call. */
  readonly forced: boolean;
}

/** The caller's wish for reasoning, in the member that the model's maker has for it. */
export function encodeReasoningFields(encoder: Encoder, circumstances: Circumstances): ModelFields {
  const { conversation, target, losses } = encoder;
  const { reasoningRequest } = target.quirks;
  if (reasoningRequest === 'thinking') {
    const { thinking, effort } = encodeThinking(encoder, circumstances);
    const fields = { ...(thinking && { thinking }), ...(effort && { output_config: { effort } }) };
    return {
      ...NOTHING,
      fields,
      fixesSampling: thinking?.type === 'enabled' || thinking?.type === 'adaptive',
    };
  }
  const { reasoning } = conversation;
  const paths = pathsOf(conversation);
  if (reasoning.summary !== undefined && reasoning.summary !== 'omitted')
    losses.drop(paths.reasoningSummary, 'how reasoning is shown cannot be chosen there');
  const isWanted = (reasoning.mode ?? reasoning.effort) !== undefined;
  if (reasoningRequest === 'none') {
    if (isWanted && reasoning.mode !== 'off' && reasoning.effort !== 'none')
      losses.drop(paths.reasoning, 'this model has no setting for reasoning');
    return NOTHING;
  }
  const effort = encodeEffort(encoder);
  if (effort === undefined) return NOTHING;
  switch (reasoningRequest) {
    case 'reasoningConfig': {
      if (effort === 'none') return { ...NOTHING, fields: { reasoningConfig: { type: 'disabled' } } };
      const isHigh = effort === 'high';
      const fields = { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } };
      return { fields, fixesSampling: isHigh, refusesBound: isHigh };
    }
    case 'reasoning_effort':
      return { ...NOTHING, fields: { reasoning_effort: effort } };
    case 'reasoning':
      return { ...NOTHING, fields: { reasoning: { effort } } };
  }
}

/** `top_k`, in the member that the model's maker has for it. */
export function encodeTopK({ conversation, target, losses }: Encoder): ModelFields['fields'] {
  const { topK } = conversation.sampling;
  if (topK === undefined) return {};
  const { topKMember, sampling } = target.quirks;
  if (topKMember === null || sampling === 'drop') {
    losses.drop(pathsOf(conversation).topK, 'not known to this upstream');
    return {};
  }
  const [last = '', ...outer] = topKMember.split('.').toReversed();
  return outer.reduce<ModelFields['fields']>((inner, name) => ({ [name]: inner }), { [last]: topK });
}
