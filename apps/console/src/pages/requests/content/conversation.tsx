import { Group, Stack, Text, Title } from '@mantine/core';
import type { Conversation } from '../../../api/types.ts';
import { PageLink } from '../../../parts/page/page-link.tsx';
import { timeFormat } from '../../../parts/time-zone.ts';
import { Turns } from './shown-turns.tsx';
import { pretty, turnsOf, withoutRepeated } from './turns.ts';

const exact = timeFormat({
  ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' },
});

/** The requests of a session, one after the other; of each what it adds to those before it. */
export function ShownConversation({
  of: { session, turns, hasEarlier },
  at,
}: {
  of: Conversation;
  at: string;
}) {
  const contents = turns.map(({ content }) => content && turnsOf(content));
  return (
    <Stack gap="md" component="section" aria-label="Conversation">
      <Text size="sm">
        {turns.length === 1 ? 'The only request' : `${turns.length} requests`} of session{' '}
        <code>{session}</code>, oldest first.{' '}
        {hasEarlier && 'Earlier ones are not shown: they are too many or too long. '}
        <PageLink to="/requests" search={{ session }}>
          View requests
        </PageLink>
      </Text>
      {turns.map(({ id, startedAt, model, outcome, content }, index) => {
        const shown = contents[index] ?? null;
        const asked = shown && withoutRepeated(shown.asked, contents.slice(0, index));
        return (
          <Stack key={id} gap="xs">
            <Group gap="xs">
              <Title order={3} size="h6">
                {exact(new Date(startedAt))}, {model}
              </Title>
              {outcome !== 'ok' && <Text size="sm">{outcome}</Text>}
              {id === at ? (
                <Text size="sm">this request</Text>
              ) : (
                <PageLink to="/requests" search={{ request: id }}>
                  Open request
                </PageLink>
              )}
            </Group>
            {content === null && <Text size="sm">Its content is not in the content log.</Text>}
            {content !== null && shown === null && <Text size="sm">{pretty(content.request)}</Text>}
            {asked !== null && asked.length > 0 && <Turns of={asked} label="Request" />}
            {shown !== null && shown.answered.length > 0 && <Turns of={shown.answered} label="Answer" />}
          </Stack>
        );
      })}
    </Stack>
  );
}
