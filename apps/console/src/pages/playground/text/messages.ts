import * as z from 'zod/mini';
import { ErrorBody } from '../exchange/relay.ts';
import {
  functionsOf,
  jsonOf,
  NO_ANSWER,
  type TextAnswer,
  type TextProtocol,
  type TextReader,
  type ToolCall,
} from './protocol.ts';

/** `input` is empty at first and follows in pieces. */
const Block = z.looseObject({ type: z.string() });
const ToolUse = z.looseObject({ type: z.literal('tool_use'), id: z.string(), name: z.string() });

const Delta = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text_delta'), text: z.string() }),
  z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.object({ type: z.literal('signature_delta'), signature: z.string() }),
  z.object({ type: z.literal('input_json_delta'), partial_json: z.string() }),
]);

/** The events that something is shown of. */
const Event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('content_block_start'), index: z.number(), content_block: Block }),
  z.object({ type: z.literal('content_block_delta'), index: z.number(), delta: Delta }),
  z.object({
    type: z.literal('message_delta'),
    delta: z.object({ stop_reason: z.nullish(z.string()) }),
  }),
  z.extend(ErrorBody, { type: z.literal('error') }),
]);

/** The protocol wants a maximum in every request. */
const DEFAULT_MAX_TOKENS = 4096;

export const messages: TextProtocol = {
  label: 'Messages',
  path: '/v1/messages',
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],

  body: ({ model, settings: { system, maxOutputTokens, temperature, effort, tools, schema }, input }) => ({
    model,
    max_tokens: maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    ...(system !== '' && { system }),
    messages: input,
    ...(temperature !== undefined && { temperature }),
    ...(effort !== undefined && { thinking: { type: 'adaptive', display: 'summarized' } }),
    ...((effort !== undefined || schema !== undefined) && {
      output_config: {
        ...(effort !== undefined && { effort }),
        ...(schema !== undefined && { format: { type: 'json_schema', schema } }),
      },
    }),
    ...(tools.length > 0 && {
      tools: functionsOf(tools, ({ parameters, ...definition }) => ({
        ...definition,
        input_schema: parameters ?? { type: 'object' },
      })),
    }),
    stream: true,
  }),

  userMessage: ({ text, pictures }) => [
    {
      role: 'user',
      content: [
        ...pictures.map(({ mediaType, base64 }) => ({
          type: 'image',
          source: { type: 'base64', media_type: mediaType, data: base64 },
        })),
        ...(text === '' ? [] : [{ type: 'text', text }]),
      ],
    },
  ],

  toolResults: (results) => [
    {
      role: 'user',
      content: results.map(({ call: { id }, output }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: output,
      })),
    },
  ],

  createReader,
};

/** A content block as it grows, with the JSON of its input. */
interface GrowingBlock {
  readonly block: z.infer<typeof Block>;
  readonly json: string;
}

function createReader(): TextReader {
  let answer: TextAnswer = NO_ANSWER;
  const blocks = new Map<number, GrowingBlock>();

  const showBlocks = (changed: Partial<TextAnswer>): void => {
    const all = [...blocks.values()];
    const content = all.map(({ block, json }) => (json === '' ? block : { ...block, input: jsonOf(json) }));
    answer = {
      ...answer,
      ...changed,
      toolCalls: all.flatMap(toolCallOf),
      output: [{ role: 'assistant', content }],
    };
  };
  /** Adds to a text member of a block. */
  const grow = (index: number, member: string, added: string): void => {
    const { block, json } = blocks.get(index) ?? { block: { type: 'text' }, json: '' };
    const before = block[member];
    blocks.set(index, {
      block: { ...block, [member]: (typeof before === 'string' ? before : '') + added },
      json,
    });
  };

  return {
    answer: () => answer,
    read: ({ data }) => {
      const { data: event } = Event.safeParse(jsonOf(data));
      if (event === undefined) return;
      if (event.type === 'error') {
        const { message, type } = event.error;
        answer = { ...answer, error: { message, code: type ?? null } };
      } else if (event.type === 'message_delta') {
        answer = { ...answer, stopReason: event.delta.stop_reason ?? answer.stopReason };
      } else if (event.type === 'content_block_start') {
        blocks.set(event.index, { block: event.content_block, json: '' });
        showBlocks(
          event.content_block.type === 'text' && answer.text !== '' ? { text: `${answer.text}\n\n` } : {},
        );
      } else {
        const { index, delta } = event;
        if (delta.type === 'text_delta') {
          grow(index, 'text', delta.text);
          showBlocks({ text: answer.text + delta.text });
        } else if (delta.type === 'thinking_delta') {
          grow(index, 'thinking', delta.thinking);
          showBlocks({ reasoning: answer.reasoning + delta.thinking });
        } else if (delta.type === 'signature_delta') {
          grow(index, 'signature', delta.signature);
          showBlocks({});
        } else {
          const { block, json } = blocks.get(index) ?? { block: { type: 'tool_use' }, json: '' };
          blocks.set(index, { block, json: json + delta.partial_json });
          showBlocks({});
        }
      }
    },
  };
}

function toolCallOf({ block, json }: GrowingBlock): ToolCall[] {
  const { data: use } = ToolUse.safeParse(block);
  return use === undefined ? [] : [{ id: use.id, name: use.name, arguments: json || '{}', isCustom: false }];
}
