import { Anchor, Badge, Group, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { PageLink } from '../../../parts/page/page-link.tsx';
import { hasEnded, type ImagesAnswer } from './make-images.ts';

const PICTURE_STYLE = { display: 'block', width: '100%', borderRadius: 'var(--mantine-radius-md)' } as const;

/** The images of an answer, the one that is being made, and the job that makes them. */
export function ImagesView({ of: { pictures, partial, job } }: { of: ImagesAnswer }) {
  return (
    <Stack gap="xs">
      {job && (
        <Group gap="xs">
          <Badge variant="dot" color={job.status === 'completed' ? 'teal' : 'indigo'}>
            {job.status}
          </Badge>
          <PageLink to="/jobs" search={{ job: job.id }} size="xs">
            {job.id}
          </PageLink>
          {typeof job.position === 'number' && <Text size="xs">number {job.position} in the queue</Text>}
          {!hasEnded(job) && typeof job.progress === 'number' && (
            <Progress value={job.progress * 100} w={120} aria-label="Job progress" />
          )}
        </Group>
      )}
      {(pictures.length > 0 || partial !== null) && (
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm">
          {pictures.map(({ url, fileName, revisedPrompt }) => (
            <Stack key={url} gap={4} component="figure" m={0}>
              <a href={url} target="_blank" rel="noreferrer">
                <img src={url} alt={revisedPrompt ?? fileName} style={PICTURE_STYLE} />
              </a>
              <Anchor href={url} download={fileName} size="xs">
                <Group gap={4} component="span" wrap="nowrap">
                  <IconDownload size={14} aria-hidden /> Download {fileName}
                </Group>
              </Anchor>
              {revisedPrompt !== null && (
                <Text component="figcaption" size="xs" c="dimmed">
                  {revisedPrompt}
                </Text>
              )}
            </Stack>
          ))}
          {partial !== null && (
            <Stack gap={4} component="figure" m={0}>
              <img src={partial.url} alt={`Unfinished: ${pictures.length + 1}`} style={PICTURE_STYLE} />
              <Text component="figcaption" size="xs" c="dimmed">
                Partial image {partial.number}
              </Text>
            </Stack>
          )}
        </SimpleGrid>
      )}
    </Stack>
  );
}
