import { type Answer, type AnswerPart, FOUND_FILE, FOUND_PAGE } from '../answer/answer.ts';
import { ENCRYPTED_REASONING_PREFIX, seal } from '../answer/signature.ts';
import type { JsonObject } from '../json-value.ts';
import type { Provider } from '../provider.ts';

export interface ItemOptions {
  readonly provider: Provider;
  /** Values of the request's `include`. */
  readonly include: readonly unknown[];
  /** Whether the request wants a summary of the reasoning. */
  readonly summarises: boolean;
  readonly rawReasoning: boolean;
}

/** A complete output item, with the text for its stream. */
export interface OutputItem {
  readonly item: JsonObject;
  /** The text that streams in pieces; empty if the item comes whole. */
  readonly text: string;
}

const annotationsOf = (part: AnswerPart): readonly JsonObject[] => {
  if (part.kind !== 'text' || !part.citation) return [];
  const { source, start, end } = part.citation;
  return source === 'web'
    ? [{ type: 'url_citation', start_index: start, end_index: end, ...FOUND_PAGE }]
    : [{ type: 'file_citation', index: end, file_id: FOUND_FILE.id, filename: FOUND_FILE.name }];
};

const reasoningItem = (text: string, { provider, summarises, rawReasoning }: ItemOptions): OutputItem => {
  const head = { id: provider.ids.next('rs_'), type: 'reasoning' };
  // A server that shows the reasoning itself need not encrypt it.
  if (rawReasoning)
    return { item: { ...head, summary: [], content: [{ type: 'reasoning_text', text }] }, text };
  const item = {
    ...head,
    summary: summarises ? [{ type: 'summary_text', text }] : [],
    encrypted_content: seal(ENCRYPTED_REASONING_PREFIX, text, provider.signatureSecret),
  };
  return { item, text: summarises ? text : '' };
};

const foundFiles = () => [
  { file_id: FOUND_FILE.id, filename: FOUND_FILE.name, score: 0.9, text: FOUND_FILE.text, attributes: {} },
];

const toItem = (part: AnswerPart, status: string, options: ItemOptions): OutputItem => {
  const { ids } = options.provider;
  switch (part.kind) {
    case 'reasoning':
      return reasoningItem(part.text, options);
    case 'text':
    case 'refusal': {
      const content =
        part.kind === 'text'
          ? { type: 'output_text', text: part.text, annotations: annotationsOf(part), logprobs: [] }
          : { type: 'refusal', refusal: part.text };
      const item = { id: ids.next('msg_'), type: 'message', status, role: 'assistant', content: [content] };
      return { item, text: part.text };
    }
    case 'tool-call': {
      const { name, arguments: text } = part;
      const call_id = ids.next('call_');
      return {
        item: { id: ids.next('fc_'), type: 'function_call', status, call_id, name, arguments: text },
        text,
      };
    }
    case 'custom-call': {
      const { name, input } = part;
      const call_id = ids.next('call_');
      return {
        item: { id: ids.next('ctc_'), type: 'custom_tool_call', status, call_id, name, input },
        text: input,
      };
    }
    case 'web-search': {
      const sources = options.include.includes('web_search_call.action.sources')
        ? { sources: [{ type: 'url', url: FOUND_PAGE.url }] }
        : {};
      const action = { type: 'search', query: part.query, queries: [part.query], ...sources };
      return { item: { id: ids.next('ws_'), type: 'web_search_call', status, action }, text: '' };
    }
    case 'file-search': {
      const results = options.include.includes('file_search_call.results') ? foundFiles() : null;
      const item = { id: ids.next('fs_'), type: 'file_search_call', status, queries: [part.query], results };
      return { item, text: '' };
    }
  }
};

/** The answer as output items; the last one is incomplete if the answer was cut. */
export const outputItems = ({ parts, finish }: Answer, options: ItemOptions): OutputItem[] =>
  parts.map((part, index) => {
    const isCut = finish === 'length' && index === parts.length - 1;
    return toItem(part, isCut ? 'incomplete' : 'completed', options);
  });
