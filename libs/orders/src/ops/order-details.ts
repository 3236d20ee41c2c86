import { TimeoutService } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { onDataSource } from '../order/order-rows';
import { type OrderDetailsView, readOrderDetails } from './read-order-details';

/** `readOrderDetails` for processes in which the order module runs. */
@Injectable()
export class OrderDetails {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
  ) {}

  /** @throws {LastcallError} order_not_found */
  read(orderId: string): Promise<OrderDetailsView> {
    const findAlarm = this.timeouts.findAlarm.bind(this.timeouts);
    return readOrderDetails(onDataSource(this.dataSource), findAlarm, orderId);
  }
}
