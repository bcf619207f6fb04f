import { Alert, Paper, SimpleGrid, Text, Title } from '@mantine/core';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { useState } from 'react';
import { requestQuery } from '../requests/requests-query.ts';
import { type Desk, useDesk } from './desk.ts';
import { type Content, contentOf } from './request-content.ts';
import { readShared, type Shared } from './text/shared-comparison.ts';
import classes from './text/text-panel.module.css';

/** What the fields of the playground were filled with. */
export type Filled =
  | { readonly kind: 'request'; readonly id: string; readonly hasContent: boolean }
  | { readonly kind: 'shared'; readonly shared: Shared }
  | { readonly kind: 'unreadable' };

/** Fills in what a link has: a request of the log, or a comparison that somebody shares. Once, before the fields are there. */
export function useFilledIn(from: string | undefined) {
  const desk = useDesk();
  const queries = useQueryClient();
  // Changes of the view leave it behind.
  const { hash } = useLocation();
  const [shared] = useState(hash);
  return useQuery({
    queryKey: ['playground', 'filled in', from ?? null, shared],
    queryFn: (): Promise<Filled | null> => fillIn({ desk, queries, from, hash: shared }),
    staleTime: 'static',
    retry: false,
  });
}

interface FillOptions {
  readonly desk: Desk;
  readonly queries: QueryClient;
  readonly from: string | undefined;
  readonly hash: string;
}

const FILLED = ['message', 'system', 'tools', 'schema', 'image-prompt', 'speech'] as const;

function fill({ drafts }: Desk, content: Content): void {
  for (const name of FILLED) {
    const text = content[name];
    if (text !== undefined) drafts.set(name, text);
  }
}

async function fillIn({ desk, queries, from, hash }: FillOptions): Promise<Filled | null> {
  const shared = hash === '' ? undefined : await readShared(hash);
  if (shared === null) return { kind: 'unreadable' };
  if (shared !== undefined) {
    fill(desk, shared);
    return { kind: 'shared', shared };
  }
  if (from === undefined) return null;
  const request = await queries.ensureQueryData(requestQuery(from)).catch(() => null);
  const content = request && (await contentOf(desk, request));
  if (content) fill(desk, content);
  return { kind: 'request', id: from, hasContent: content !== null };
}

/** Says what was filled in, and what was not. */
export function FilledIn({ of: filled, onClose }: { of: Filled; onClose: () => void }) {
  const [isClosed, setClosed] = useState(false);
  if (isClosed) return null;
  const close = (): void => {
    setClosed(true);
    onClose();
  };
  return (
    <Alert
      mb="md"
      variant="light"
      color={filled.kind === 'unreadable' ? 'red' : 'indigo'}
      withCloseButton
      closeButtonLabel="Close this note"
      onClose={close}
      title={TITLES[filled.kind]}
    >
      <Text size="sm" c="var(--mantine-color-text)">
        {sentenceOf(filled)}
      </Text>
      {filled.kind === 'shared' && filled.shared.answers.length > 0 && (
        <SimpleGrid cols={{ base: 1, md: Math.min(filled.shared.answers.length, 3) }} mt="sm">
          {filled.shared.answers.map(({ model, text }) => (
            <Paper key={model} withBorder p="sm" component="section" aria-label={`Shared answer of ${model}`}>
              <Title order={2} size="h6" mb={4}>
                {model}
              </Title>
              <Text size="sm" className={classes.text} c="var(--mantine-color-text)">
                {text}
              </Text>
            </Paper>
          ))}
        </SimpleGrid>
      )}
    </Alert>
  );
}

const TITLES: Readonly<Record<Filled['kind'], string>> = {
  request: 'From a request',
  shared: 'Shared comparison',
  unreadable: 'This link cannot be read',
};

function sentenceOf(filled: Filled): string {
  if (filled.kind === 'unreadable') return 'It may have been cut off. Ask for it again.';
  if (filled.kind === 'shared')
    return filled.shared.answers.length === 0
      ? 'The settings and the message are filled in. Choose a key and send the message to get answers.'
      : 'The settings and the message are filled in. These are the answers at the time of sharing; send the message to get new ones.';
  return filled.hasContent
    ? `The model, the key and the content of request ${filled.id} are filled in. Sending it makes a new request.`
    : `The content of request ${filled.id} is not stored, so only its model, key and kind are filled in. Write the message to send.`;
}
