import type { Message } from './message.ts';
import type { ShownMessage } from './shown-message.ts';

/** Slack's bounds: of a header, of a section's text, of a message's blocks. */
const SLACK = { header: 150, text: 3000, blocks: 45 } as const;
/** Teams refuses a message beyond 28 KB: so many bytes are for its items. */
const TEAMS = { text: 500, itemBytes: 22 * 1024 } as const;

type Item = ShownMessage['sections'][number]['items'][number];

/** A sign that the cut would halve is none that a receiver takes. */
const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1).toWellFormed()}…` : text;

/** The three signs that Slack reads as control: https://docs.slack.dev/messaging/formatting-message-text */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** An incoming webhook's body, with blocks, and the text that notifications show. */
export function slackBody({ title, isUrgent, sections, link }: ShownMessage): object {
  const section = (text: string) => ({
    type: 'section',
    text: { type: 'mrkdwn', text: cut(text, SLACK.text) },
  });
  const blocks = sections.flatMap(({ heading, items }) => [
    ...(heading === null ? [] : [section(`*${heading}*`)]),
    ...items.map(({ head, lines }) => section([`*${slackText(head)}*`, ...lines.map(slackText)].join('\n'))),
  ]);
  const shownTitle = `${isUrgent ? '🔴 ' : ''}${title}`;
  return {
    text: slackText(cut(shownTitle, SLACK.text)),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cut(shownTitle, SLACK.header), emoji: true } },
      ...blocks.slice(0, SLACK.blocks),
      ...(link === null ? [] : [section(`<${link}|Open the console>`)]),
    ],
  };
}

/**
 * What a workflow with the trigger "When a Teams webhook request is received" posts: a message with one Adaptive Card. Names are in runs
 * of text, which are not read as Markdown.
 */
export function teamsBody({ title, isUrgent, sections, link }: ShownMessage): object {
  const run = (text: string, style: object = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: cut(text, TEAMS.text), ...style }],
  });
  const itemOf = ({ head, lines }: Item) => ({
    type: 'Container',
    items: [run(head, { weight: 'Bolder' }), ...(lines.length === 0 ? [] : [run(lines.join(' '))])],
  });
  let bytes = 0;
  const fits = (item: object): boolean => {
    const size = Buffer.byteLength(JSON.stringify(item));
    const isWithin = bytes + size <= TEAMS.itemBytes;
    if (isWithin) bytes += size;
    return isWithin;
  };
  const shown = sections.map(({ heading, items }) => ({ heading, items: items.map(itemOf).filter(fits) }));
  const count = (of: readonly { readonly items: readonly unknown[] }[]): number =>
    of.reduce((sum, { items }) => sum + items.length, 0);
  const left = count(sections) - count(shown);
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    msteams: { width: 'Full' },
    body: [
      run(title, { size: 'Large', weight: 'Bolder', color: isUrgent ? 'Attention' : 'Default' }),
      ...shown.flatMap(({ heading, items }) => [
        ...(heading === null ? [] : [run(heading, { weight: 'Bolder' })]),
        ...items,
      ]),
      ...(left === 0 ? [] : [run(`${left} more do not fit into this message.`)]),
    ],
    ...(link !== null && { actions: [{ type: 'Action.OpenUrl', title: 'Open the console', url: link }] }),
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  };
}

const htmlText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export interface Mail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The same as plain text and as HTML. */
export function mailOf({ title, isUrgent, sections, link }: ShownMessage): Mail {
  const text = sections.flatMap(({ heading, items }) => [
    ...(heading === null ? [] : [heading, '']),
    ...items.flatMap(({ head, lines }) => [head, ...lines.map((line) => `  ${line}`), '']),
  ]);
  const html = sections.flatMap(({ heading, items }) => [
    ...(heading === null ? [] : [`<h2>${htmlText(heading)}</h2>`]),
    ...items.map(
      ({ head, lines }) =>
        `<p><strong>${htmlText(head)}</strong>${lines.map((line) => `<br>${htmlText(line)}`).join('')}</p>`,
    ),
  ]);
  const more = link === null ? '' : `<p><a href="${htmlText(link)}">Open the console</a></p>`;
  return {
    subject: cut(`[gateway] ${isUrgent ? 'Urgent: ' : ''}${title}`.replaceAll(/\s+/g, ' '), 200),
    text: [...text, ...(link === null ? [] : [link])].join('\n'),
    html: `<!doctype html><html lang="en"><body>${html.join('')}${more}</body></html>`,
  };
}

const TYPES = { alert: 'alert.changed', report: 'report.weekly', test: 'alert.test' } as const;

/** In the form of the gateway's webhooks: a type, a time, and data. */
export function webhookBody({ type, atMs, ...data }: Message, { title, link }: ShownMessage): object {
  return {
    type: TYPES[type],
    timestamp: new Date(atMs).toISOString(),
    data: { title, ...data, link },
  };
}
