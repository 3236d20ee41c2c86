import { type Config, OrdersModule } from '@app/orders';
import { Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { InjectDataSource, InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Column, DataSource, Entity, PrimaryColumn, Repository } from 'typeorm';
import { silentDriver } from '../support/world';
import { silentOrdersTelemetry } from '../support/silent-telemetry';

/** An order as the host has had it for years. */
@Entity('orders')
export class HostOrder {
  @PrimaryColumn('int') id!: number;
  @Column('int') state!: number;
}

/** The host's own work, by the tokens that everybody uses. */
@Injectable()
export class HostService implements OnModuleInit {
  /** Just before its cron is set up. */
  startedAt = new Date();
  readonly firedAt: Date[] = [];

  constructor(
    @InjectRepository(HostOrder) readonly orders: Repository<HostOrder>,
    @InjectDataSource() readonly byToken: DataSource,
    readonly byClass: DataSource,
  ) {}

  onModuleInit(): void {
    this.startedAt = new Date();
  }

  @Cron('* * * * * *')
  fire(): void {
    this.firedAt.push(new Date());
  }
}

/** A shop with a cron, an ORM and tables of its own, which imports the order module at last or at first. */
export async function startHost(
  config: Config,
  { lastcallFirst = false }: { lastcallFirst?: boolean } = {},
): Promise<TestingModule> {
  const own = [
    ScheduleModule.forRoot(),
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: config.DATABASE_URL,
      entities: [HostOrder],
      applicationName: 'the host',
      retryAttempts: 1,
      // As for every user that is not called as our schema is.
      extra: { options: '-c search_path=public' },
    }),
    TypeOrmModule.forFeature([HostOrder]),
  ];
  const lastcall = OrdersModule.forRoot(config, silentOrdersTelemetry, {
    ring: false,
    parts: { driver: silentDriver },
  });
  const module = await Test.createTestingModule({
    imports: lastcallFirst ? [lastcall, ...own] : [...own, lastcall],
    providers: [HostService as Type],
  }).compile();
  module.useLogger(false);
  return module.init();
}
