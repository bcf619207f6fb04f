import { Badge, Button, Group, Paper, Stack, Text, Textarea, UnstyledButton } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { useMay } from '../../api/permissions.ts';
import type { Revision } from '../../api/types.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { SideDrawer } from '../../parts/side-drawer.tsx';
import { configurationChanged, revisionQuery, revisionsQuery } from './configuration-query.ts';
import { DraftChanges } from './edit/draft-changes.tsx';
import classes from './edit/edit.module.css';
import { tellInUse } from './tell-in-use.ts';

/** Every change of the configuration, with its author and reason; each opens what it changed. */
export function RevisionList() {
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } =
    useInfiniteQuery(revisionsQuery);
  const may = useMay();
  const mayOpen = may('GET /admin/v1/configuration/revisions/{number}');
  const [opened, setOpened] = useState<Revision>();
  const revisions = data?.pages.flatMap((page) => page.data) ?? [];
  const latest = revisions[0]?.number ?? 0;
  return (
    <Stack gap="sm">
      {error && <PageFailed error={error} reset={() => void refetch()} />}
      {data && revisions.length === 0 && (
        <Text size="sm" c="dimmed">
          No revisions yet. The first one is made when a draft is applied.
        </Text>
      )}
      {revisions.length > 0 && (
        <Paper withBorder>
          {revisions.map((revision) => (
            <UnstyledButton
              key={revision.number}
              className={classes.entry}
              disabled={!mayOpen}
              onClick={() => setOpened(revision)}
            >
              <Group gap="xs">
                <Text span size="sm" fw={600}>
                  Revision {revision.number}
                </Text>
                {revision.number === latest && (
                  <Badge size="sm" variant="default">
                    in use
                  </Badge>
                )}
                <Text span size="sm" c="dimmed">
                  {revision.author} · <Moment at={revision.at} />
                </Text>
              </Group>
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {revision.reason}
              </Text>
            </UnstyledButton>
          ))}
        </Paper>
      )}
      {hasNextPage && (
        <Group>
          <Button
            variant="default"
            size="xs"
            loading={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          >
            Show older revisions
          </Button>
        </Group>
      )}
      {opened && <RevisionDetails of={opened} latest={latest} onClose={() => setOpened(undefined)} />}
    </Stack>
  );
}

interface RevisionDetailsProps {
  readonly of: Revision;
  /** The number of the revision in use. */
  readonly latest: number;
  readonly onClose: () => void;
}

function RevisionDetails({ of, latest, onClose }: RevisionDetailsProps) {
  const may = useMay();
  const [isRestoring, setRestoring] = useState(false);
  const { data, error, refetch } = useQuery(revisionQuery(of.number));
  const mayRestore = of.number !== latest && may('POST /admin/v1/configuration/revisions/{number}/restore');
  return (
    <SideDrawer onClose={onClose} size="xl" title={<Text fw={600}>Revision {of.number}</Text>}>
      <Stack>
        <Text size="sm">
          {of.author}, <Moment at={of.at} />: {of.reason}
        </Text>
        {error && <PageFailed error={error} reset={() => void refetch()} />}
        {data &&
          (data.changes === null ? (
            <Text size="sm" c="dimmed">
              There is no revision before it to compare it with.
            </Text>
          ) : (
            <DraftChanges of={{ changes: data.changes, diff: data.diff }} />
          ))}
        {mayRestore && (
          <Group>
            <Button variant="default" onClick={() => setRestoring(true)}>
              Go back to this revision
            </Button>
          </Group>
        )}
      </Stack>
      {isRestoring && (
        <RestoreRevision of={of} latest={latest} onClose={() => setRestoring(false)} onDone={onClose} />
      )}
    </SideDrawer>
  );
}

interface RestoreRevisionProps extends RevisionDetailsProps {
  readonly onDone: () => void;
}

function RestoreRevision({ of: { number }, latest, onClose, onDone }: RestoreRevisionProps) {
  const queries = useQueryClient();
  const [reason, setReason] = useState(`Back to revision ${number}`);
  const restore = useMutation({
    mutationFn: () =>
      bodyOf(
        api.POST('/admin/v1/configuration/revisions/{number}/restore', {
          params: { path: { number: `${number}` } },
          body: { base: latest, reason: reason.trim() },
        }),
      ),
    onSuccess: async (made) => {
      onDone();
      tellInUse(made.number);
      await configurationChanged(queries);
    },
  });
  return (
    <ConfirmDialog
      title={`Go back to revision ${number}?`}
      action="Go back"
      isReady={reason.trim() !== ''}
      isPending={restore.isPending}
      error={restore.error}
      onConfirm={() => restore.mutate()}
      onClose={onClose}
    >
      <Stack gap="sm">
        <Text size="sm">
          Its text becomes a new revision, which all services follow within two seconds. Values that were
          sealed since then stay.
        </Text>
        <Textarea
          label="Reason"
          required
          maxLength={500}
          autosize
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value.replaceAll('\n', ' '))}
        />
      </Stack>
    </ConfirmDialog>
  );
}
