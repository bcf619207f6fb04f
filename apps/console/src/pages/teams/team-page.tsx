import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { ApiError } from '../../api/client.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { Changes } from '../life/changes.tsx';
import { Forecast } from '../life/forecast.tsx';
import { LifePage } from '../life/life-page.tsx';
import { Part } from '../life/part.tsx';
import { TeamPanel } from './team-panel.tsx';
import { teamBalanceQuery, teamQuery } from './teams-query.ts';

/** The life of one team. Its usage is there also where nobody has made the team, or it was deleted. */
export default function TeamPage() {
  const { id: name = '' } = useParams({ strict: false });
  const navigate = useNavigate();
  const team = useQuery(teamQuery(name));
  const balance = useQuery({ ...teamBalanceQuery(name), enabled: team.data !== undefined });
  const isMissing = team.error instanceof ApiError && team.error.status === 404;
  return (
    <LifePage
      of={{ group: 'team', value: name }}
      title={name}
      splits={['keyId', 'model', 'channel', 'outcome']}
      causesBy="model"
    >
      <Part title="Settings and limits">
        {isMissing && (
          <Text size="sm">
            This team has no settings: it was deleted, or only named by keys. Its usage stays on record.
          </Text>
        )}
        {team.error && !isMissing && <PageFailed error={team.error} reset={() => void team.refetch()} />}
        <Forecast of={balance.data?.budget} only={{ team: name }} />
        {team.data && <TeamPanel of={team.data} onDeleted={() => void navigate({ to: '/teams' })} />}
      </Part>
      <Changes kind="team" subjectId={name} />
    </LifePage>
  );
}
