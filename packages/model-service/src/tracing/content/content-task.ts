import type { SpanAttributes } from '@gateway/contracts/trace/request-trace';
import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import { cleanContent } from '../../content-log/clean/clean-content.ts';
import { createRedactor, type Redacting } from '../../content-log/clean/redactor.ts';
import { type ContentSide, contentOf } from '../../content-log/content-side.ts';
import { GEN_AI } from '../gen-ai.ts';
import { contentMessages } from './content-messages.ts';

/** Writes what a request and its answer say as attributes of a span. */
export interface ContentTask extends Redacting {
  readonly request: ContentSide;
  readonly answer: ContentSide;
  /** More was answered than was held. */
  readonly isOverlong: boolean;
  /** Of each attribute. */
  readonly maxCharacters: number;
}

export function spanContent(task: ContentTask): SpanAttributes {
  const redactor = createRedactor(task);
  let isCut = task.isOverlong;
  const shown = (all: readonly unknown[]): string | undefined => {
    if (all.length === 0) return undefined;
    // By this name the newest are kept of what is too long.
    const clean = cleanContent({ messages: all }, redactor, task.maxCharacters);
    isCut ||= clean.isCut;
    return JSON.stringify(Object.values(clean.content ?? {})[0]);
  };
  const { input, output, system, tools } = contentMessages(contentOf(task.request), contentOf(task.answer));
  return {
    [GEN_AI.inputMessages]: shown(input),
    [GEN_AI.outputMessages]: shown(output),
    [GEN_AI.systemInstructions]: shown(system),
    [GEN_AI.toolDefinitions]: shown(tools),
    'gateway.content.cut': isCut || undefined,
  };
}

serveTasks<ContentTask, SpanAttributes>((task) => ({ result: spanContent(task) }));
