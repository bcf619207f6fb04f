import * as z from 'zod/mini';
import {
  dataUrl,
  functionsOf,
  jsonOf,
  NO_ANSWER,
  SCHEMA_NAME,
  type TextAnswer,
  type TextProtocol,
  type TextReader,
  type ToolCall,
} from './protocol.ts';

const Item = z.looseObject({
  id: z.optional(z.string()),
  type: z.string(),
  call_id: z.optional(z.string()),
  name: z.optional(z.string()),
  arguments: z.optional(z.string()),
  input: z.optional(z.string()),
});

const Failure = z.nullish(z.object({ message: z.string(), code: z.nullish(z.string()) }));

const End = z.object({
  status: z.optional(z.string()),
  incomplete_details: z.nullish(z.object({ reason: z.nullish(z.string()) })),
  error: Failure,
});

const delta = z.object({ item_id: z.optional(z.string()), delta: z.string() });

/** The events that something is shown of. */
const Event = z.discriminatedUnion('type', [
  z.extend(delta, { type: z.literal('response.output_text.delta') }),
  z.extend(delta, { type: z.literal('response.refusal.delta') }),
  z.extend(delta, { type: z.literal('response.reasoning_summary_text.delta') }),
  z.extend(delta, { type: z.literal('response.reasoning_text.delta') }),
  z.extend(delta, { type: z.literal('response.function_call_arguments.delta') }),
  z.extend(delta, { type: z.literal('response.custom_tool_call_input.delta') }),
  z.object({ type: z.literal('response.content_part.added') }),
  z.object({ type: z.literal('response.reasoning_summary_part.added') }),
  z.object({ type: z.literal('response.output_item.added'), item: Item }),
  z.object({ type: z.literal('response.output_item.done'), item: Item }),
  z.object({ type: z.literal('response.completed'), response: End }),
  z.object({ type: z.literal('response.incomplete'), response: End }),
  z.object({ type: z.literal('response.failed'), response: End }),
  z.object({ type: z.literal('error'), message: z.string(), code: z.nullish(z.string()) }),
]);

const CALLS: readonly string[] = ['function_call', 'custom_tool_call'];

export const responses: TextProtocol = {
  label: 'Responses',
  path: '/v1/responses',
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],

  body: ({ model, settings: { system, maxOutputTokens, temperature, effort, tools, schema }, input }) => ({
    model,
    ...(system !== '' && { instructions: system }),
    input,
    ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(effort !== undefined && { reasoning: { effort, summary: 'auto' } }),
    ...(tools.length > 0 && {
      tools: functionsOf(tools, (definition) => ({ type: 'function', ...definition })),
    }),
    ...(schema !== undefined && {
      text: { format: { type: 'json_schema', name: SCHEMA_NAME, schema, strict: true } },
    }),
    stream: true,
    // The whole conversation is sent each time, so nothing need be stored; sealed reasoning goes back as it came.
    store: false,
    include: ['reasoning.encrypted_content'],
  }),

  userMessage: ({ text, pictures }) => [
    {
      role: 'user',
      content: [
        ...pictures.map((picture) => ({ type: 'input_image', image_url: dataUrl(picture) })),
        ...(text === '' ? [] : [{ type: 'input_text', text }]),
      ],
    },
  ],

  toolResults: (results) =>
    results.map(({ call: { id, isCustom }, output }) => ({
      type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
      call_id: id,
      output,
    })),

  createReader,
};

function createReader(): TextReader {
  let answer: TextAnswer = NO_ANSWER;
  const calls = new Map<string, ToolCall>();
  const change = (changed: Partial<TextAnswer>): void => {
    answer = { ...answer, ...changed };
  };
  const showCall = (key: string, call: ToolCall): void => {
    calls.set(key, call);
    change({ toolCalls: [...calls.values()] });
  };
  const showCallOf = (item: z.infer<typeof Item>): void => {
    if (!CALLS.includes(item.type)) return;
    const { id, call_id = '', name = '', arguments: json, input } = item;
    const isCustom = item.type === 'custom_tool_call';
    showCall(id ?? call_id, { id: call_id, name, arguments: json ?? input ?? '', isCustom });
  };

  return {
    answer: () => answer,
    read: ({ data }) => {
      const { data: event } = Event.safeParse(jsonOf(data));
      if (event === undefined) return;
      switch (event.type) {
        case 'response.output_text.delta':
          return change({ text: answer.text + event.delta });
        case 'response.refusal.delta':
          return change({ refusal: answer.refusal + event.delta });
        case 'response.reasoning_summary_text.delta':
        case 'response.reasoning_text.delta':
          return change({ reasoning: answer.reasoning + event.delta });
        case 'response.content_part.added':
          return change({ text: paragraph(answer.text) });
        case 'response.reasoning_summary_part.added':
          return change({ reasoning: paragraph(answer.reasoning) });
        case 'response.function_call_arguments.delta':
        case 'response.custom_tool_call_input.delta': {
          const call = calls.get(event.item_id ?? '');
          if (call !== undefined)
            showCall(event.item_id ?? '', { ...call, arguments: call.arguments + event.delta });
          return;
        }
        case 'response.output_item.added':
          return showCallOf(event.item);
        case 'response.output_item.done':
          showCallOf(event.item);
          return change({ output: [...answer.output, event.item] });
        case 'response.completed':
        case 'response.incomplete':
        case 'response.failed': {
          const { status = '', incomplete_details, error } = event.response;
          const stopReason = incomplete_details?.reason ?? status;
          return change({
            stopReason,
            ...(error && { error: { message: error.message, code: error.code ?? null } }),
          });
        }
        case 'error':
          return change({ error: { message: event.message, code: event.code ?? null } });
      }
    },
  };
}

/** A text to which another part is added. */
const paragraph = (text: string): string => (text === '' ? '' : `${text}\n\n`);
